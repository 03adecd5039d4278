"""The search page: answers.py (queries → JSON), app.py (HTTP), static/ (the page itself, without a build step)."""
