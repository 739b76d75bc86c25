"""A task from its request to the point where a person is needed: plan, driver, attempts, and what lies in staging/."""
