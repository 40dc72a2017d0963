import NIOCore
import SkyrowModel

extension HTTPResponse {
    /// Keeps the request's account until the body is written, if the body is counted.
    mutating func hold(_ account: ResponseAccount) {
        if account.holdsText { self.account = account }
    }
}

extension ResponseAccount {
    /// Returns a promise that keeps the account until the counted bytes have been written.
    func promise(on eventLoop: any EventLoop) -> EventLoopPromise<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { _ in withExtendedLifetime(self) {} }
        return promise
    }
}
