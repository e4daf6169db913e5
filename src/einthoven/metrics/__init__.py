"""What a set of predictions is worth: pure functions of targets and scores, exact under ties, NaN where undefined."""
