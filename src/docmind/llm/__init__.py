"""Language models that other programs serve, on this machine or on a host that the user has allowed."""
