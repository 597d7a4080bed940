"""The report page's own workshop: numbers, networks and episodes as text, and all files as one."""
