import NIOCore
import SkyrowModel

extension HTTPResponse {
    /// Keeps the account of the request until the body has left, if the body is counted.
    mutating func hold(_ account: ResponseAccount) {
        if account.holdsText { self.account = account }
    }
}

extension ResponseAccount {
    /// A promise that keeps the account until it is fulfilled, when the bytes that are counted have left.
    func promise(on eventLoop: any EventLoop) -> EventLoopPromise<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { _ in withExtendedLifetime(self) {} }
        return promise
    }
}
