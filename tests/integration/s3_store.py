"""A real S3 server: JuiceFS's gateway, which is MinIO's, on a folder of this machine."""

import os
import shutil
import subprocess
import sysconfig
import time
from pathlib import Path
from urllib.request import urlopen

from dehusk.streams.local.folder import free_ports

BUCKET = "pages"
SECONDS = 60


class S3Server:
    """A server with one bucket, which may be stopped and started again with the same objects."""

    def __init__(self, folder: Path) -> None:
        (self.port,) = free_ports(1)
        self._folder, self._meta = folder, f"sqlite3://{folder}/meta.db"
        paths = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
        self._program = shutil.which("juicefs", path=paths) or "juicefs"
        data = f"{folder}/data/"
        made = [
            self._program,
            "format",
            "--storage=file",
            "--bucket",
            data,
            "--trash-days=0",
            self._meta,
            BUCKET,
        ]
        subprocess.run(made, check=True, capture_output=True, timeout=SECONDS)
        self._process: subprocess.Popen[bytes] | None = None
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "tester",
            "AWS_SECRET_ACCESS_KEY": "secret-of-tester",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def start(self) -> None:
        """Start, and wait until it answers."""
        keys = {"MINIO_ROOT_USER": "tester", "MINIO_ROOT_PASSWORD": "secret-of-tester"}
        options = ["--no-banner", "--no-usage-report", "--keep-etag", "--metrics=127.0.0.1:0"]
        cache = ["--cache-dir", f"{self._folder}/cache", f"--log={self._folder}/log"]
        command = [
            self._program,
            "--no-agent",
            "gateway",
            *options,
            *cache,
            self._meta,
            f"127.0.0.1:{self.port}",
        ]
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(command, env=os.environ | keys, stdout=output, stderr=output)
        until = time.monotonic() + SECONDS
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "output").read_text()
            assert time.monotonic() < until
            time.sleep(0.05)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def put(self, key: str, content: bytes) -> None:
        """Store an object."""
        from obstore.store import S3Store

        names = {name.removeprefix("AWS_").lower(): value for name, value in self.environment.items()}
        names.pop("ec2_metadata_disabled")
        names["endpoint"] = names.pop("endpoint_url")
        S3Store(BUCKET, client_options={"allow_http": True}, **names).put(key, content)

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/minio/health/live", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False
