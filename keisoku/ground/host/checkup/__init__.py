"""What `keisoku doctor` looks at on this host: findings with their remedies. It changes nothing by itself."""
