"""What one person brings or keeps: uploads of a session, profiles, and the admin token."""
