"""What a change is compared with; check_words and lint look only at what differs from it."""

import subprocess


def git(*words):
    run = subprocess.run(["git", *words], capture_output=True, text=True, errors="replace")
    return run.stdout if run.returncode == 0 else None


def base_of_change():
    """Where this branch left origin/main, or the commit before the last one; None if there is neither."""
    for name in ("origin/main", "main"):
        base = git("merge-base", "HEAD", name)
        if base and base.strip() != git("rev-parse", "HEAD").strip():
            return base.strip()
    return "HEAD~1" if git("rev-parse", "--verify", "HEAD~1") else None
