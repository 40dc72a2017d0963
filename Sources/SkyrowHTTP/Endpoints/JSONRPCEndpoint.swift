import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel

/// `POST /rpc`: a JSON-RPC message in the body of the request, and one in the body of the response.
///
/// The HTTP status is 200 for every outcome of a call: the status describes the transport, `error.code` the call. A body of
/// notifications gets 204.
struct JSONRPCEndpoint: Sendable {
    func respond(
        to body: ByteBuffer,
        of applications: ApplicationFinder,
        from sender: Sender,
        context: RequestContext
    ) async -> RequestOutcome {
        let runner = await applications.runner(sender.credentials)
        let session = JSONRPCSession(runner: runner, sender: sender)
        let reply = await session.handle(body, context: context)
        var response = reply.message.map { HTTPResponse(status: .ok, body: $0) } ?? HTTPResponse(status: .noContent)
        response.hold(context.account)
        return RequestOutcome(response, reply.subject, of: runner.service.application, reply)
    }
}
