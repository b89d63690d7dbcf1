"""The messages of dehusk: frozen values, one type per step of a page's way, and their JSON."""
