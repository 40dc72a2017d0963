import Foundation
import SkyrowRemote

/// An S3-compatible store on the loopback interface, which verifies signatures and simulates faults.
package struct TemporaryObjectStore: Sendable {
    /// What happens to a request that would succeed.
    package enum Fault: String, Sendable, CaseIterable {
        /// 503 SlowDown
        case slow
        /// 500 without a body
        case failing
        /// The connection ends without a response.
        case drop
        /// The connection ends after half of the response's body.
        case cut
        /// The request succeeds, and the connection ends without a response.
        case lost
        /// 403 RequestTimeTooSkewed from a clock that is an hour ahead
        case skewed
        /// 507 XMinioStorageFull
        case full
        /// The completion of an upload in parts responds with 200 and an error.
        case late
        /// The response is 200 and the whole object.
        case whole
    }

    package static let bucket = "files"
    package static let accessKey = "TESTKEY"
    package static let secretKey = "a/secret+key"

    /// `http://127.0.0.1:…`
    package let endpoint: String
    private let directory: String
    private let process: pid_t
    private let fetcher: WebFetcher

    /// Makes the next requests of a method fail.
    ///
    /// - Parameter method: `GET`; or `*` for all.
    package func fail(_ fault: Fault, times: Int = 1, method: String = "*") async throws {
        _ = try await fetcher.text(at: "\(endpoint)/-/fault/\(fault.rawValue)/\(times)/\(method)")
    }

    /// The requests since the last call, such as `PUT app/7b0e…-cat.png`, with the names of their queries.
    package func requests() async throws -> [String] {
        try await fetcher.text(at: "\(endpoint)/-/requests").split(separator: "\n").map(String.init)
    }

    /// The keys of the objects, and `<key>?` for an upload in parts that is not complete.
    package func keys() async throws -> [String] {
        try await fetcher.text(at: "\(endpoint)/-/keys").split(separator: "\n").map(String.init)
    }

    /// Sets the age of the uploads in parts.
    package func age(uploads seconds: Int) async throws {
        _ = try await fetcher.text(at: "\(endpoint)/-/age/\(seconds)")
    }

    /// Puts an object without a signature, as a client with a form does.
    package func put(_ key: String, _ bytes: [UInt8]) async throws {
        _ = try await fetcher.text(at: "\(endpoint)/-/put/\(key)?\(Data(bytes).base64EncodedString())")
    }

    fileprivate init() async throws {
        fetcher = try WebFetcher(timeout: patience)
        let directory = try TemporaryDirectory.make(named: "store")
        self.directory = directory
        try TemporaryObjectStore.script.write(toFile: "\(directory)/server.py", atomically: false, encoding: .utf8)
        process = try Program.start(
            [
                "/usr/bin/python3", "\(directory)/server.py", directory, Self.bucket, Self.accessKey, Self.secretKey,
            ],
            log: "\(directory)/log"
        )
        do {
            let port = try await Program.numbers(1, in: "\(directory)/port", until: "the store listens")[0]
            endpoint = "http://127.0.0.1:\(port)"
        } catch {
            let said = (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
            TemporaryObjectStore.stop(process, directory)
            throw TemporaryClusterError(description: "The store did not start: \(said)")
        }
    }

    fileprivate func stop() {
        TemporaryObjectStore.stop(process, directory)
    }

    private static func stop(_ process: pid_t, _ directory: String) {
        Program.end(process)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static let script = #"""
        import base64, email.utils, hashlib, hmac, os, re, sys, threading, time
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
        from urllib.parse import quote, unquote
        from xml.sax.saxutils import escape

        directory, bucket, access, secret = sys.argv[1:]
        lock = threading.Lock()
        objects, uploads, faults, requests = {}, {}, [], []
        age = 0


        def encoded(text):
            return quote(text, safe="-._~")


        def instant(seconds):
            return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


        def signature(stamp, region, text):
            key = ("AWS4" + secret).encode()
            for part in [stamp[:8], region, "s3", "aws4_request", text]:
                key = hmac.new(key, part.encode(), hashlib.sha256).digest()
            return key.hex()


        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def respond(self, status, body=b"", fields={}, cut=False):
                self.send_response_only(status)
                date = time.time() + (3600 if "skewed" in fields else 0)
                self.send_header("Date", email.utils.formatdate(date, usegmt=True))
                for name, value in fields.items():
                    if name != "skewed":
                        self.send_header(name, value)
                if "Content-Length" not in fields and status != 204:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body[: len(body) // 2] if cut else body)
                if cut:
                    self.close_connection = True

            def refuse(self, status, code, fields={}):
                body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>No.</Message></Error>" if code else ""
                self.respond(status, body.encode(), fields)

            def control(self):
                global age
                words, _, query = self.path[3:].partition("?")
                word, *rest = words.split("/")
                with lock:
                    body = ""
                    if word == "fault":
                        faults.extend([(rest[0], rest[2])] * int(rest[1]))
                    elif word == "requests":
                        body = "\n".join(requests)
                        requests.clear()
                    elif word == "keys":
                        body = "\n".join(sorted(objects) + [key + "?" for key, _ in uploads.values()])
                    elif word == "age":
                        age = int(rest[0])
                    elif word == "put":
                        objects["/".join(rest)] = base64.b64decode(unquote(query))
                self.respond(200, body.encode())

            def refusal(self, path, query, body):
                """Why the signature is not accepted."""
                match = re.fullmatch(
                    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, SignedHeaders=([^,]+), "
                    r"Signature=([0-9a-f]{64})",
                    self.headers.get("Authorization", ""))
                if not match:
                    return "AccessDenied"
                key, day, region, names, given = match.groups()
                stamp = self.headers["x-amz-date"]
                hashed = self.headers["x-amz-content-sha256"]
                if key != access:
                    return "InvalidAccessKeyId"
                names = names.split(";")
                if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(names) or stamp[:8] != day:
                    return "AccessDenied"
                fields = "".join(f"{name}:{self.headers[name]}\n" for name in names)
                canonical = "\n".join([
                    self.command, path, "&".join(sorted(f"{encoded(name)}={encoded(value)}" for name, value in query.items())),
                    fields, ";".join(names), hashed])
                text = "\n".join([
                    "AWS4-HMAC-SHA256", stamp, f"{day}/{region}/s3/aws4_request",
                    hashlib.sha256(canonical.encode()).hexdigest()])
                if signature(stamp, region, text) != given:
                    return "SignatureDoesNotMatch"
                if hashlib.sha256(body).hexdigest() != hashed:
                    return "XAmzContentSHA256Mismatch"

            def handle_request(self):
                path, _, text = self.path.partition("?")
                if path.startswith("/-/"):
                    return self.control()
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                query = {}
                for part in filter(None, text.split("&")):
                    name, _, value = part.partition("=")
                    query[unquote(name)] = unquote(value)
                key = unquote(path[len(bucket) + 2:])
                with lock:
                    names = "?" + "&".join(sorted(query)) if query else ""
                    requests.append(f"{self.command} {key}{names}")
                    fault = next((name for name, method in faults if method in ("*", self.command)), None)
                    if fault:
                        faults.remove(next(one for one in faults if one[0] == fault and one[1] in ("*", self.command)))
                refusal = self.refusal(path, query, body)
                if refusal:
                    return self.refuse(403, refusal)
                if path != f"/{bucket}" and not path.startswith(f"/{bucket}/"):
                    return self.refuse(404, "NoSuchBucket")
                if fault == "drop":
                    self.close_connection = True
                    return
                if fault == "slow":
                    return self.refuse(503, "SlowDown")
                if fault == "failing":
                    return self.refuse(500, "")
                if fault == "full":
                    return self.refuse(507, "XMinioStorageFull")
                if fault == "skewed":
                    return self.refuse(403, "RequestTimeTooSkewed", {"skewed": ""})
                with lock:
                    response = self.perform(key, query, body, fault)
                if fault == "lost":
                    self.close_connection = True
                    return
                self.respond(*response, cut=fault == "cut")

            def perform(self, key, query, body, fault):
                missing = 404, b"<Error><Code>NoSuchKey</Code></Error>"
                gone = 404, b"<Error><Code>NoSuchUpload</Code></Error>"
                method = self.command
                if not key and "list-type" in query:
                    return 200, self.listed(query)
                if not key and "uploads" in query:
                    text = "".join(
                        f"<Upload><Key>{escape(key)}</Key><UploadId>{id}</UploadId>"
                        f"<Initiated>{instant(time.time() - age)}</Initiated></Upload>"
                        for id, (key, _) in uploads.items() if key.startswith(query["prefix"]))
                    return 200, f"<ListMultipartUploadsResult>{text}</ListMultipartUploadsResult>".encode()
                if method == "POST" and "uploads" in query:
                    id = os.urandom(8).hex() + "/="
                    uploads[id] = key, {}
                    return 200, f"<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>".encode()
                if "uploadId" in query:
                    if query["uploadId"] not in uploads:
                        return gone
                    _, parts = uploads[query["uploadId"]]
                    if method == "PUT":
                        tag = f'"{hashlib.md5(body).hexdigest()}"'
                        parts[int(query["partNumber"])] = tag, body
                        return 200, b"", {"ETag": tag}
                    if method == "DELETE":
                        del uploads[query["uploadId"]]
                        return 204, b""
                    if fault == "late":
                        return 200, b"<Error><Code>InternalError</Code></Error>"
                    named = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>([^<]*)</ETag>", body.decode())
                    if [(int(number), tag) for number, tag in named] != [(number, parts[number][0]) for number in sorted(parts)]:
                        return 400, b"<Error><Code>InvalidPart</Code></Error>"
                    objects[key] = b"".join(parts[number][1] for number in sorted(parts))
                    del uploads[query["uploadId"]]
                    return 200, b"<CompleteMultipartUploadResult/>"
                if method == "PUT":
                    objects[key] = body
                    return 200, b"", {"ETag": '"x"'}
                if method == "DELETE":
                    objects.pop(key, None)
                    return 204, b""
                if key not in objects:
                    return missing if method != "HEAD" else (404, b"")
                content = objects[key]
                if method == "HEAD":
                    return 200, b"", {"Content-Length": str(len(content))}
                match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
                if not match or fault == "whole":
                    return 200, content
                first, last = map(int, match.groups())
                return 206, content[first : last + 1]

            def listed(self, query):
                keys = sorted(key for key in objects if key.startswith(query["prefix"]) and key > query.get("start-after", ""))
                most = int(query["max-keys"])
                text = "".join(
                    f"<Contents><Key>{escape(key)}</Key><LastModified>{instant(time.time())}</LastModified>"
                    f"<Size>{len(objects[key])}</Size></Contents>" for key in keys[:most])
                cut = "true" if len(keys) > most else "false"
                return f"<ListBucketResult xmlns='a:b'><IsTruncated>{cut}</IsTruncated>{text}</ListBucketResult>".encode()

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_request


        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass


        server = Server(("127.0.0.1", 0), Handler)
        with open(f"{directory}/port.part", "w") as file:
            file.write(str(server.server_port))
        os.rename(f"{directory}/port.part", f"{directory}/port")
        server.serve_forever()
        """#
}

/// Runs `body` with an S3-compatible store.
package func withObjectStore<Success>(
    _ body: (TemporaryObjectStore) async throws -> Success
) async throws -> Success {
    let store = try await TemporaryObjectStore()
    defer { store.stop() }
    return try await body(store)
}
