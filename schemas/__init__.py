"""The values that pass between the steps of dehusk, frozen, one type per step, and their JSON."""
