"""What one person brings or keeps.

- `uploads`: their files, read; `session_data`, `session_benchmark`: ranked with the others for one session
- `profiles`: their choices, kept under a private link or as a file
- `admin`: what needs the admin token
"""
