import Foundation
import SkyrowRemote

/// Glewlwyd, a third-party OpenID Connect provider, on the loopback interface.
///
/// It has one client, one user, and an SQLite database. ``visit(_:)`` simulates a browser whose user logs in and
/// consents to everything.
package struct TemporaryGlewlwyd: Sendable {
    package static let clientID = "skyrow"
    package static let clientSecret = "the-secret-of-the-client"
    /// The user's address in id tokens.
    package static let userAddress = "ann@example.org"

    /// The user's login name.
    package static let userName = "ann"
    package static let password = "correct horse"

    /// The issuer, `http://127.0.0.1:…/api/oidc`.
    package let issuer: String
    private let control: String
    private let directory: String
    private let process: pid_t
    private let fetcher: WebFetcher

    /// Simulates a browser at an address of the provider: the user logs in and consents.
    ///
    /// Returns the address to which the provider redirects the browser.
    package func visit(_ address: String) async throws -> String {
        try await fetcher.text(at: "\(control)/visit?\(address.encodedForQuery)")
    }

    /// - Parameter redirect: The client's redirect URI.
    fileprivate init(redirect: String) async throws {
        fetcher = try WebFetcher(timeout: patience)
        let directory = try TemporaryDirectory.make(named: "glewlwyd")
        self.directory = directory
        try TemporaryGlewlwyd.script.write(toFile: "\(directory)/start.py", atomically: false, encoding: .utf8)
        process = try Program.start(
            [
                "/usr/bin/python3", "\(directory)/start.py", directory, TemporaryGlewlwyd.clientID,
                TemporaryGlewlwyd.clientSecret, TemporaryGlewlwyd.userAddress, redirect, TemporaryGlewlwyd.userName,
                TemporaryGlewlwyd.password,
            ],
            log: "\(directory)/output"
        )
        do {
            let ports = try await Program.numbers(2, in: "\(directory)/ports", until: "Glewlwyd is set up")
            issuer = "http://127.0.0.1:\(ports[0])/api/oidc"
            control = "http://127.0.0.1:\(ports[1])"
        } catch {
            let said = (try? String(contentsOfFile: "\(directory)/output", encoding: .utf8)) ?? ""
            TemporaryGlewlwyd.stop(process, directory)
            throw TemporaryClusterError(description: "Glewlwyd did not start: \(said)")
        }
    }

    fileprivate func stop() {
        TemporaryGlewlwyd.stop(process, directory)
    }

    private static func stop(_ process: pid_t, _ directory: String) {
        // The process leads a process group that includes Glewlwyd.
        kill(-process, SIGKILL)
        Program.end(process)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static let script = """
        import base64, http.cookiejar, json, os, re, shutil, socket, sqlite3, subprocess, sys, time
        import urllib.error, urllib.parse, urllib.request
        from http.server import BaseHTTPRequestHandler, HTTPServer
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        directory, client, secret, address, redirect, name, password = sys.argv[1:]


        class NoRedirect(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *arguments):
                return None


        class Browser:
            def __init__(self):
                self.opener = urllib.request.build_opener(
                    urllib.request.ProxyHandler({}), NoRedirect,
                    urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

            def request(self, method, url, body=None):
                data = None if body is None else json.dumps(body).encode()
                headers = {"Content-Type": "application/json"} if data else {}
                request = urllib.request.Request(url, data, headers, method=method)
                try:
                    return self.opener.open(request, timeout=600)
                except urllib.error.HTTPError as error:
                    if error.code in (302, 303, 307):
                        return error
                    raise

            def log_in(self, name, password):
                self.request("POST", home + "/api/auth/", {"username": name, "password": password})


        # It binds no port of the system's choice, so one that is free is tried.
        def start():
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            with open("/etc/glewlwyd/glewlwyd.conf") as file:
                lines = file.read().splitlines()
            own = {
                "port": str(port), "external_url": f'"http://127.0.0.1:{port}"', "log_file": f'"{directory}/log"',
            }
            kept = [line for line in lines if line.split("=")[0].strip() not in own and not line.startswith("@")]
            kept += [f"{name}={value}" for name, value in own.items()]
            kept += [f'static_files_path="{directory}/pages/"']
            kept += ['bind_address="127.0.0.1"', f'database = {{ type="sqlite3" path="{directory}/database" }};']
            with open(f"{directory}/configuration", "w") as file:
                file.write("\\n".join(kept) + "\\n")
            return port, subprocess.Popen(["glewlwyd", "-c", f"{directory}/configuration"])


        def is_up(port, process):
            deadline = time.monotonic() + 600
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    return True
                except OSError:
                    time.sleep(0.02)
            return False


        # Its pages read a file where Debian has made a directory.
        shutil.copytree(
            "/usr/share/glewlwyd/webapp", f"{directory}/pages", ignore=shutil.ignore_patterns("config.json", "*.map"))
        shutil.copy("/usr/share/glewlwyd/templates/config.json", f"{directory}/pages/config.json")

        database = sqlite3.connect(f"{directory}/database")
        with open("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3") as file:
            database.executescript(file.read())
        database.close()
        for attempt in range(5):
            port, process = start()
            if is_up(port, process):
                break
        else:
            sys.exit("Glewlwyd does not listen")
        home = f"http://127.0.0.1:{port}"

        key = rsa.generate_private_key(65537, 2048)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        administrator = Browser()
        administrator.log_in("admin", "password")
        administrator.request("POST", home + "/api/mod/plugin/", {
            "module": "oidc", "name": "oidc", "display_name": "oidc", "parameters": {
                "iss": home + "/api/oidc", "jwt-type": "rsa", "jwt-key-size": "256", "key": private.decode(),
                "cert": public.decode(), "access-token-duration": 3600, "refresh-token-duration": 3600,
                "code-duration": 600, "refresh-token-rolling": True, "allow-non-oidc": False,
                "auth-type-code-enabled": True, "auth-type-token-enabled": False,
                "auth-type-id-token-enabled": False, "auth-type-none-enabled": False,
                "auth-type-password-enabled": False, "auth-type-client-enabled": False,
                "auth-type-device-enabled": False, "auth-type-refresh-enabled": True, "pkce-allowed": True,
                "pkce-method-plain-allowed": False, "pkce-required": True, "jwks-show": True, "scope": [],
                "additional-parameters": [], "claims": [], "subject-type": "public",
                "introspection-revocation-allowed": False, "request-parameter-allow": False,
                "email-claim": "mandatory", "allowed-scope": ["openid", "email", "profile"]}})
        administrator.request("POST", home + "/api/client/", {
            "client_id": client, "name": client, "confidential": True, "enabled": True, "password": secret,
            "redirect_uri": [redirect], "authorization_type": ["code"], "scope": [],
            "token_endpoint_auth_method": ["client_secret_basic", "client_secret_post"]})
        # Beside openid, which takes no consent.
        for scope in ["email", "profile"]:
            administrator.request("POST", home + "/api/scope/", {
                "name": scope, "display_name": scope, "description": scope, "password_required": False})
        administrator.request("POST", home + "/api/user/", {
            "username": name, "name": "Ann", "email": address, "enabled": True, "password": password,
            "scope": ["openid", "email", "profile"]})


        class Control(BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_GET(self):
                query = self.path.partition("?")[2].replace(".", "=")
                try:
                    url = base64.urlsafe_b64decode(query).decode()
                    browser = Browser()
                    browser.log_in(name, password)
                    browser.request("PUT", f"{home}/api/auth/grant/{client}", {"scope": "openid"})
                    # The page on which the user agrees says so by this parameter.
                    answer = browser.request("GET", url + "&g_continue")
                    status, body = 200, (answer.headers.get("Location") or "").encode()
                except Exception as error:
                    status, body = 500, repr(error).encode()
                    print(error, flush=True)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)


        control = HTTPServer(("127.0.0.1", 0), Control)
        with open(f"{directory}/ports.part", "w") as file:
            file.write(f"{port} {control.server_port}")
        os.rename(f"{directory}/ports.part", f"{directory}/ports")
        control.serve_forever()
        """
}

/// Runs `body` with Glewlwyd, whose client has the redirect URI `redirect`.
package func withGlewlwyd<Success>(
    redirect: String,
    _ body: (TemporaryGlewlwyd) async throws -> Success
) async throws -> Success {
    let provider = try await TemporaryGlewlwyd(redirect: redirect)
    defer { provider.stop() }
    return try await body(provider)
}
