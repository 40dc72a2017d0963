import NIOCore
import NIOHTTP1

extension RequestOutcome {
    /// The page at `/` for browsers: which service this is, and what to do next. It reveals nothing of the applications.
    static var home: RequestOutcome {
        let response = HTTPResponse(
            status: .ok,
            fields: [HTTPField("vary", "accept")] + AccountPageVisit.fields,
            contentType: .other("text/html; charset=utf-8"),
            body: ByteBuffer(string: homePage)
        )
        return RequestOutcome(response, .home)
    }
}

private let homePage = """
    \(AccountPageText.head)
    <title>Skyrow</title>
    <meta name="color-scheme" content="light dark">
    </head>
    <body>
    <main>
    <h1>Skyrow is running</h1>
    <p>This is the address of a record service for applications. It has no web pages to browse.</p>
    <ul>
    <li><code>POST /rpc</code> takes JSON-RPC 2.0 calls, with an API key in <code>X-Skygear-API-Key</code>. The first start \
    creates two keys and stores them in the file <code>keys</code> of the data directory.</li>
    <li>The method <code>rpc.discover</code> lists all methods, with their parameters.</li>
    <li><code>Documentation/Tutorial.md</code> shows the first calls, <code>Documentation/Protocol</code> describes all.</li>
    <li><code>skyrow psql</code> shows the same records as tables.</li>
    <li><a href="/readyz"><code>/readyz</code></a> reports whether the service is ready.</li>
    </ul>
    </main>
    </body>
    </html>

    """
