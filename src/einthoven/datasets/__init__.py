"""From source files to a prepared cohort: cards, readers, label and split rules, and the phantom."""
