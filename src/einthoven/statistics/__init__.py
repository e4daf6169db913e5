"""How sure a number is: resampling, intervals, paired differences and macro averages over declared labels."""
