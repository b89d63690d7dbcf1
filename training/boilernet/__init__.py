"""BoilerNet (Leonhardt et al., WWW 2020), as published."""
