"""What every room stands on: errors, identities, seeds, registries, safe publishing. Imports no other room."""
