"""The command line: thin commands over public functions. Heavy imports happen inside the commands."""
