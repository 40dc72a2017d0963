"""What an operator's tools must not do for a stranger."""

import subprocess

from attack import attack


@attack("operator-role")
def role(service, findings, setting):
    """The service's own role is no superuser and runs no program."""
    user = service.psql(
        "SELECT DISTINCT rolsuper FROM pg_stat_activity JOIN pg_roles ON rolname = usename "
        "WHERE application_name LIKE 'skyrow%'")
    findings.expect(user == "f", f"the service's sessions belong to a superuser: {user}")


@attack("operator-password-in-command")
def password_in_command(service, findings, setting):
    """A database password on the command line is refused."""
    result = subprocess.run(
        [str(service.binary), "doctor", "--database-url", "postgresql://someone:secret@127.0.0.1:1/none"],
        capture_output=True, text=True, timeout=30, cwd=service.directory)
    findings.expect(result.returncode == 64, f"exit status {result.returncode}: {result.stderr.strip()}")
    findings.expect("secret" not in result.stderr, "the password is repeated")


@attack("operator-output-files")
def output_files(service, findings, setting):
    """An export does not follow a link that is placed where its file goes."""
    target, link = service.directory / "precious", service.directory / "backup.tar"
    target.write_text("precious")
    link.symlink_to(target)
    subprocess.run([str(service.binary), "backup", str(link), "--data-directory", str(service.data)],
                   capture_output=True, text=True, timeout=60, cwd=service.directory)
    findings.expect(target.read_text() == "precious", "the link's target was overwritten")
    mode = service.data.stat().st_mode & 0o777
    findings.expect(mode == 0o700, f"the data directory has the mode {mode:o}")
