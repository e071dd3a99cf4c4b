"""The paper's convergence section: perturbation bounds, and Lanczos with errors of given size."""
