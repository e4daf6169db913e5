"""Tables, figures, ECG paper and the page: pure functions of a study's folder."""
