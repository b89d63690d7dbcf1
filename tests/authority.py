"""Certificates, signed by an authority of the tests' own."""

import datetime as dt
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """An authority that signs certificates, and the files of these, with all that RFC 5280 asks for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test's authority")])
        is_authority = x509.BasicConstraints(ca=True, path_length=None)
        signed = self._build(self._name, self._key).add_extension(is_authority, critical=True)
        signed = signed.add_extension(_SIGNS, critical=True)
        self.file = self._write("ca.pem", signed.sign(self._key, hashes.SHA256()))

    def certify(self, name: str, *addresses: str, ended: dt.timedelta = dt.timedelta()) -> tuple[Path, Path]:
        """The files of a certificate for these IP addresses, and of its key.

        Args:
            name: the subject, and the name of the files.
            addresses: the IP addresses.
            ended: how long the certificate is no longer valid; zero for one that is.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(each)) for each in addresses])
        signed = self._build(subject, key, ended).add_extension(names, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (self._folder / f"{name}.key").write_bytes(private)
        return self._write(
            f"{name}.pem", signed.sign(self._key, hashes.SHA256())
        ), self._folder / f"{name}.key"

    def _build(self, subject, key, ended=dt.timedelta()):
        now = dt.datetime.now(dt.UTC)
        if ended:
            now -= ended + dt.timedelta(days=1)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now).not_valid_after(now + dt.timedelta(days=1))
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return builder.add_extension(own, critical=False).add_extension(authority, critical=False)

    def _write(self, name, certificate):
        (self._folder / name).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return self._folder / name
