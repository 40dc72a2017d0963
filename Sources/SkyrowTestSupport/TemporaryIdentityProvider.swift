import Foundation
import SkyrowRemote
import SkyrowSystem

/// An OpenID Connect provider on the loopback interface, which signs any token a test requests and simulates faults.
package struct TemporaryIdentityProvider: Sendable {
    /// The provider's behavior. The first group of cases is about requests for its keys.
    package enum Mode: String, Sendable, CaseIterable {
        case normal
        /// It has a new key, `k9`, and no other.
        case rotated
        /// It redirects.
        case redirect
        /// It redirects to another port, whose server has a different key `k9`.
        case otherPort
        /// It sends a document of more than 256 KB.
        case large
        /// It sends the first byte after a minute.
        case slow
        /// It responds with status 500.
        case failing
        /// It responds with text that is not JSON.
        case garbled
        /// It sends another issuer's document.
        case impostor
        /// Its clock is 750 seconds ahead.
        case ahead
        /// Its clock is 750 seconds behind.
        case behind
        /// Behavior towards browsers and code exchanges: it names another issuer.
        case wrongIssuer
        /// It omits the issuer's name.
        case namelessIssuer
        /// It responds with an error, as if the user had cancelled.
        case denied
        /// It sends an id token with another nonce.
        case wrongNonce
        /// It omits the id token.
        case tokenless
        /// It sends more than 256 KB of tokens.
        case largeTokens
        /// It sends the tokens after a minute.
        case slowTokens
        /// It responds to the exchange with status 500.
        case failingTokens
        /// It redirects the exchange to another port.
        case otherPortTokens
        /// It responds with an error and status 200, as GitHub does.
        case errorTokens
    }

    /// The issuer, `http://127.0.0.1:…`.
    package let issuer: String
    private let directory: String
    private let process: pid_t
    private let fetcher: WebFetcher

    /// The key `shared` in the form of a setting.
    package static let sharedKey = "HS256:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="

    /// The address of its keys.
    package var keys: String { "\(issuer)/keys" }

    /// Signs a token.
    ///
    /// - Parameters:
    ///   - claims: A JSON object.
    ///   - algorithm: Any algorithm, including `none`, and `HS256` with the public key of `k1` as its secret.
    ///   - key: `k1` (RSA), `k2` (P-256), `k3` (Ed25519) or `k9` (RSA); with HS256 also ``sharedKey``, as `shared`.
    ///   - header: A JSON object whose members precede the usual ones.
    package func token(
        _ claims: String,
        _ algorithm: String = "RS256",
        key: String = "k1",
        header: String = "{}"
    ) async throws -> String {
        let order = #"{"claims":\#(claims),"alg":"\#(algorithm)","key":"\#(key)","header":\#(header)}"#
        return try await text("/sign?\(order.encodedForQuery)")
    }

    package func set(_ mode: Mode) async throws {
        _ = try await text("/mode?\(mode.rawValue)")
    }

    /// Sets the user's claims, a JSON object with `sub`, for later id tokens and responses of `/user`.
    package func set(user: String, emails: String = "[]") async throws {
        let order = #"{"user":\#(user),"emails":\#(emails)}"#
        _ = try await text("/user-is?\(order.encodedForQuery)")
    }

    /// Sets the properties of later id tokens from exchanges.
    ///
    /// - Parameters:
    ///   - claims: A JSON object whose members precede the usual ones; null removes a claim.
    ///   - algorithm: The algorithm; this and the others are as in ``token(_:_:key:header:)``.
    package func set(
        tokens claims: String,
        _ algorithm: String = "RS256",
        key: String = "k1",
        header: String = "{}"
    ) async throws {
        let order = #"{"claims":\#(claims),"alg":"\#(algorithm)","key":"\#(key)","header":\#(header)}"#
        _ = try await text("/tokens-are?\(order.encodedForQuery)")
    }

    /// Returns the number of requests to the other port that it redirects to.
    package func requestsElsewhere() async throws -> Int {
        Int(try await text("/count-elsewhere")) ?? -1
    }

    /// Signs the user in at an address that a service has made, like a browser, and returns the redirect address.
    package func signIn(at url: String) async throws -> String {
        guard url.hasPrefix(issuer) else { throw TemporaryClusterError(description: "\(url) is not the provider's") }
        return try await text(String(url.dropFirst(issuer.count)) + "&followed=no")
    }

    /// Returns the last code exchange as a JSON object: the form's fields and the header `authorization`.
    package func lastExchange() async throws -> String {
        try await text("/exchange")
    }

    /// Returns the number of requests for its keys.
    package func requests() async throws -> Int {
        Int(try await text("/count")) ?? -1
    }

    private func text(_ path: String) async throws -> String {
        try await fetcher.text(at: issuer + path)
    }

    fileprivate init() async throws {
        fetcher = try WebFetcher(timeout: patience)
        let directory = try TemporaryDirectory.make(named: "provider")
        self.directory = directory
        do {
            let factory = try IdentityProviderFactory.shared.get()
            try factory.make(in: directory)
            do {
                let numbers = try await Program.numbers(2, in: "\(directory)/port", until: "the provider listens")
                process = pid_t(numbers[0])
                issuer = "http://127.0.0.1:\(numbers[1])"
            } catch {
                throw TemporaryClusterError(description: "The provider did not start: \(factory.log)")
            }
        } catch {
            try? FileManager.default.removeItem(atPath: directory)
            throw error
        }
    }

    fileprivate func stop() {
        kill(process, SIGKILL)
        try? FileManager.default.removeItem(atPath: directory)
    }

    fileprivate static let script = """
        import base64, hashlib, hmac, json, os, signal, sys, threading, time, urllib.parse
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        mode = "normal"
        asked = 0
        user = {"sub": "ann", "id": 7, "email": "ann@example.org", "email_verified": True, "name": "Ann"}
        emails = []
        codes = {}
        exchange = {}
        signing = {"claims": {}, "alg": "RS256", "key": "k1", "header": {}}
        elsewhere = 0
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

            def date_time_string(self, timestamp=None):
                return super().date_time_string(time.time() + {"ahead": 750, "behind": -750}.get(mode, 0))

            def respond(self, status, body, **headers):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def signed(self, order):
                header = {"alg": order["alg"], "kid": order["key"], **order["header"]}
                parts = [{name: value for name, value in part.items() if value is not None}
                         for part in (header, order["claims"])]
                message = ".".join(encoded(json.dumps(part).encode()) for part in parts).encode()
                return message + b"." + encoded(signature(order["alg"], order["key"], message)).encode()

            def is_elsewhere(self):
                global elsewhere
                if self.server is not server:
                    elsewhere += 1
                    self.respond(200, json.dumps({"keys": [public("k9")]}).encode())
                return self.server is not server

            def do_POST(self):
                global exchange
                if self.is_elsewhere():
                    return
                issuer = f"http://127.0.0.1:{self.server.server_port}"
                length = int(self.headers.get("Content-Length", 0))
                form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
                exchange = dict(form, authorization=self.headers.get("Authorization", ""))
                if mode == "slowTokens":
                    time.sleep(60)
                if mode == "failingTokens":
                    return self.respond(500, b"")
                if mode == "otherPortTokens":
                    return self.respond(307, b"", Location=f"http://127.0.0.1:{other.server_port}/token")
                if mode == "errorTokens":
                    return self.respond(200, b'{"error": "bad_verification_code", "access_token": "x"}')
                asked_for = codes.pop(form.get("code"), None)
                proof = encoded(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
                if asked_for is None or asked_for["code_challenge"] != proof \
                        or asked_for["redirect_uri"] != form.get("redirect_uri"):
                    return self.respond(400, b'{"error": "invalid_grant"}')
                now = int(time.time())
                tokens = {"access_token": "at-" + form["code"], "token_type": "Bearer", "expires_in": 3600}
                if "offline" not in codes:
                    codes["offline"] = True
                    tokens["refresh_token"] = "rt-1"
                if "nonce" in asked_for and mode != "tokenless":
                    nonce = "another" if mode == "wrongNonce" else asked_for["nonce"]
                    claims = {**user, "iss": issuer, "aud": asked_for["client_id"], "iat": now, "auth_time": now, "exp": now + 600,
                              "nonce": nonce, **signing["claims"]}
                    tokens["id_token"] = self.signed({**signing, "claims": claims}).decode()
                if mode == "largeTokens":
                    tokens["more"] = "x" * 300000
                self.respond(200, json.dumps(tokens).encode())

            def authorize(self, query, issuer):
                asked_for = dict(urllib.parse.parse_qsl(query))
                code = "c" + base64.b16encode(os.urandom(8)).decode()
                codes[code] = asked_for
                fields = {"state": asked_for["state"], "code": code, "iss": issuer}
                if mode == "wrongIssuer":
                    fields["iss"] = "https://accounts.example.org"
                if mode == "namelessIssuer":
                    del fields["iss"]
                if mode == "denied":
                    fields = {"state": asked_for["state"], "error": "access_denied", "iss": issuer}
                address = asked_for["redirect_uri"] + "?" + urllib.parse.urlencode(fields)
                if asked_for.get("followed") == "no":
                    return self.respond(200, address.encode())
                self.respond(302, b"", Location=address)

            def do_GET(self):
                global mode, asked, user, emails, signing
                if self.is_elsewhere():
                    return
                path, _, query = self.path.partition("?")
                issuer = f"http://127.0.0.1:{self.server.server_port}"
                if path == "/mode":
                    mode = query
                    return self.respond(200, b"")
                if path == "/user-is":
                    order = json.loads(base64.urlsafe_b64decode(query.replace(".", "=")))
                    user, emails = order["user"], order["emails"]
                    return self.respond(200, b"")
                if path == "/tokens-are":
                    signing = json.loads(base64.urlsafe_b64decode(query.replace(".", "=")))
                    return self.respond(200, b"")
                if path == "/count-elsewhere":
                    return self.respond(200, str(elsewhere).encode())
                if path == "/exchange":
                    return self.respond(200, json.dumps(exchange).encode())
                if path == "/authorize":
                    return self.authorize(query, issuer)
                if path in ("/user", "/emails"):
                    if not self.headers.get("Authorization", "").startswith("Bearer at-"):
                        return self.respond(401, b"")
                    return self.respond(200, json.dumps(user if path == "/user" else emails).encode())
                if path == "/count":
                    return self.respond(200, str(asked).encode())
                if path == "/sign":
                    return self.respond(
                        200, self.signed(json.loads(base64.urlsafe_b64decode(query.replace(".", "=")))))
                if path == "/.well-known/openid-configuration":
                    named = "https://accounts.example.org" if mode == "impostor" else issuer
                    document = {"issuer": named, "jwks_uri": issuer + "/keys",
                                "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
                                "userinfo_endpoint": issuer + "/user",
                                "authorization_response_iss_parameter_supported": True}
                    return self.respond(200, json.dumps(document).encode())
                if path == "/elsewhere":
                    return self.respond(200, json.dumps({"keys": [public("k1")]}).encode())
                if path != "/keys":
                    return self.respond(404, b"")
                asked += 1
                if mode == "redirect":
                    return self.respond(302, b"", Location=issuer + "/elsewhere")
                if mode == "otherPort":
                    return self.respond(302, b"", Location=f"http://127.0.0.1:{other.server_port}/keys")
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


        def serve(directory):
            global server, other
            server, other = (ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2))
            threading.Thread(target=other.serve_forever, daemon=True).start()
            with open(f"{directory}/port.part", "w") as file:
                file.write(f"{os.getpid()} {server.server_port}")
            os.rename(f"{directory}/port.part", f"{directory}/port")
            server.serve_forever()


        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for line in sys.stdin:
            if os.fork() == 0:
                serve(line.rstrip())
        os.killpg(0, signal.SIGKILL)
        """
}

/// A process that forks for each provider and shares their keys, whose generation takes half a second of processor time.
///
/// It reads the providers' directories from a pipe that only this process writes to, so it and the providers end with
/// this process.
private struct IdentityProviderFactory: Sendable {
    static let shared = Result { try IdentityProviderFactory() }

    private let orders: FileDescriptor
    private let output: FileDescriptor

    private init() throws {
        let (reading, writing) = try FileDescriptor.pipe()
        orders = writing
        output = try .temporary()
        _ = try Program.start(["/usr/bin/python3", "-c", TemporaryIdentityProvider.script], [reading, output, output])
    }

    /// Starts a provider, which writes its process id and port to the file `port` in a directory.
    func make(in directory: String) throws {
        do {
            try orders.write("\(directory)\n".utf8)
        } catch {
            throw TemporaryClusterError(description: "The process that makes providers has ended: \(log)")
        }
    }

    /// The error output of the process and all its providers.
    var log: String { output.text }
}

/// Runs `body` with an OpenID Connect provider.
package func withIdentityProvider<Success>(
    _ body: (TemporaryIdentityProvider) async throws -> Success
) async throws -> Success {
    let provider = try await TemporaryIdentityProvider()
    defer { provider.stop() }
    return try await body(provider)
}
