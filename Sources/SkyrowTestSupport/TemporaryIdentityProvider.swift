import Foundation
package import SkyrowRemote

/// A provider of OpenID Connect on the loopback interface, which signs whatever a test wants and misbehaves as it says.
package struct TemporaryIdentityProvider: Sendable {
    /// How it responds to a request for its keys.
    package enum Mode: String, Sendable, CaseIterable {
        case normal
        /// It has another key now, `k9`, and no other.
        case rotated
        /// It leads elsewhere.
        case redirect
        /// To a document of more than 256 KB.
        case large
        /// With the first byte after a minute.
        case slow
        /// With 500.
        case failing
        /// With what is not JSON.
        case garbled
        /// With a document for another issuer.
        case impostor
    }

    /// What the issuer is, `http://127.0.0.1:…`.
    package let issuer: String
    private let directory: String
    private let process: pid_t
    private let fetcher: WebFetcher

    /// What the key `shared` is as a setting has it.
    package static let sharedKey = "HS256:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="

    /// The address of its keys.
    package var keys: String { "\(issuer)/keys" }

    /// Signs a token.
    ///
    /// - Parameters:
    ///   - claims: a JSON object.
    ///   - algorithm: `none`, and `HS256` with the public key of `k1` as its secret, too.
    ///   - key: `k1` (RSA), `k2` (P-256), `k3` (Ed25519) and `k9` (RSA); with HS256 also ``sharedKey``, as `shared`.
    ///   - header: a JSON object, whose members come before the usual ones.
    package func token(
        _ claims: String,
        _ algorithm: String = "RS256",
        key: String = "k1",
        header: String = "{}"
    ) async throws -> String {
        let order = #"{"claims":\#(claims),"alg":"\#(algorithm)","key":"\#(key)","header":\#(header)}"#
        let query = Data(order.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        return try await text("/sign?\(query.replacing("=", with: "."))")
    }

    package func set(_ mode: Mode) async throws {
        _ = try await text("/mode?\(mode.rawValue)")
    }

    /// How often its keys were asked for.
    package func requests() async throws -> Int {
        Int(try await text("/count")) ?? -1
    }

    private func text(_ path: String) async throws -> String {
        guard let address = WebAddress(issuer + path, allowsLoopback: true) else {
            throw TemporaryClusterError(description: "\(path) is no part of an address")
        }
        return String(decoding: try await fetcher.document(at: address).bytes, as: UTF8.self)
    }

    fileprivate init() async throws {
        fetcher = try WebFetcher(timeout: .seconds(60))
        var template = Array("/tmp/skyrow-provider-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw TemporaryClusterError(description: "No directory can be made in /tmp")
        }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.directory = directory
        try TemporaryIdentityProvider.script.write(
            toFile: "\(directory)/provider.py",
            atomically: false,
            encoding: .utf8
        )
        let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nowhere) }
        let log = open("\(directory)/log", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(log) }
        process = try ChildProcess.spawn(
            "/usr/bin/python3",
            ["\(directory)/provider.py", directory],
            descriptors: [nowhere, log, log]
        )
        func readPort() -> Int? {
            (try? String(contentsOfFile: "\(directory)/port", encoding: .utf8)).flatMap { Int($0) }
        }
        do {
            try await waiting(until: "the provider listens") { readPort() != nil }
        } catch {
            let said = (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
            TemporaryIdentityProvider.stop(process, directory)
            throw TemporaryClusterError(description: "The provider did not start: \(said)")
        }
        issuer = "http://127.0.0.1:\(readPort() ?? 0)"
    }

    fileprivate func stop() {
        TemporaryIdentityProvider.stop(process, directory)
    }

    private static func stop(_ process: pid_t, _ directory: String) {
        kill(process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static let script = """
        import base64, hashlib, hmac, json, os, sys, time
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        directory = sys.argv[1]
        mode = "normal"
        asked = 0
        keys = {
            "k1": rsa.generate_private_key(65537, 2048), "k2": ec.generate_private_key(ec.SECP256R1()),
            "k3": ed25519.Ed25519PrivateKey.generate(), "k9": rsa.generate_private_key(65537, 2048),
        }


        def encoded(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


        def number(value, length=None):
            return encoded(value.to_bytes(length or (value.bit_length() + 7) // 8, "big"))


        def public(name):
            key = keys[name].public_key()
            if isinstance(key, rsa.RSAPublicKey):
                numbers = key.public_numbers()
                return {"kty": "RSA", "kid": name, "use": "sig", "n": number(numbers.n), "e": number(numbers.e)}
            if isinstance(key, ec.EllipticCurvePublicKey):
                numbers = key.public_numbers()
                return {"kty": "EC", "crv": "P-256", "kid": name, "alg": "ES256",
                        "x": number(numbers.x, 32), "y": number(numbers.y, 32)}
            raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
            return {"kty": "OKP", "crv": "Ed25519", "kid": name, "alg": "EdDSA", "x": encoded(raw)}


        def signature(algorithm, name, message):
            if name == "shared":
                return hmac.digest(bytes([7] * 32), message, "sha256")
            key = keys[name]
            if algorithm == "none":
                return b""
            if algorithm == "HS256":
                pem = key.public_key().public_bytes(
                    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
                return hmac.digest(pem, message, "sha256")
            if algorithm == "RS256":
                return key.sign(message, padding.PKCS1v15(), hashes.SHA256())
            if algorithm == "PS256":
                return key.sign(message, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())
            if algorithm == "ES256":
                r, s = decode_dss_signature(key.sign(message, ec.ECDSA(hashes.SHA256())))
                return r.to_bytes(32, "big") + s.to_bytes(32, "big")
            return key.sign(message)


        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def respond(self, status, body, **headers):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                global mode, asked
                path, _, query = self.path.partition("?")
                issuer = f"http://127.0.0.1:{self.server.server_port}"
                if path == "/mode":
                    mode = query
                    return self.respond(200, b"")
                if path == "/count":
                    return self.respond(200, str(asked).encode())
                if path == "/sign":
                    order = json.loads(base64.urlsafe_b64decode(query.replace(".", "=")))
                    header = {"alg": order["alg"], "kid": order["key"], **order["header"]}
                    header = {name: value for name, value in header.items() if value is not None}
                    message = ".".join(
                        encoded(json.dumps(part).encode()) for part in (header, order["claims"])).encode()
                    made = signature(order["alg"], order["key"], message)
                    return self.respond(200, message + b"." + encoded(made).encode())
                if path == "/.well-known/openid-configuration":
                    named = "https://accounts.example.org" if mode == "impostor" else issuer
                    return self.respond(200, json.dumps({"issuer": named, "jwks_uri": issuer + "/keys"}).encode())
                if path == "/elsewhere":
                    return self.respond(200, json.dumps({"keys": [public("k1")]}).encode())
                if path != "/keys":
                    return self.respond(404, b"")
                asked += 1
                if mode == "redirect":
                    return self.respond(302, b"", Location=issuer + "/elsewhere")
                if mode == "large":
                    return self.respond(200, json.dumps({"keys": [public("k1")], "more": "x" * 300000}).encode())
                if mode == "slow":
                    time.sleep(60)
                if mode == "failing":
                    return self.respond(500, b"")
                if mode == "garbled":
                    return self.respond(200, b"<html>")
                names = ["k9"] if mode == "rotated" else ["k1", "k2", "k3"]
                body = json.dumps({"keys": [public(name) for name in names]}).encode()
                self.respond(200, body, Cache_Control="public, max-age=600")


        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        with open(f"{directory}/port.part", "w") as file:
            file.write(str(server.server_port))
        os.rename(f"{directory}/port.part", f"{directory}/port")
        server.serve_forever()
        """
}

/// Runs `body` with a provider of OpenID Connect.
package func withIdentityProvider<Success>(
    _ body: (TemporaryIdentityProvider) async throws -> Success
) async throws -> Success {
    let provider = try await TemporaryIdentityProvider()
    defer { provider.stop() }
    return try await body(provider)
}
