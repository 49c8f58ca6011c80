"""Looks at an installation and says what to do. See docs/doctor.md."""
