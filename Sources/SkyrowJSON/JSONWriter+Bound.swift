package import SkyrowModel

extension JSONWriter {
    /// The state of a text whose memory an account limits.
    struct Bound {
        /// The bytes taken from the account.
        var taken = 0
        /// Why the account grants no more; what is written from then on is lost.
        var refusal: ResponseAccount.Refusal?
        /// Whether the account no longer limits the text.
        var isLifted = false
        /// The start of the text that may be lost.
        var start = 0
    }

    /// Why the text is not complete; checked between its parts, so that little is written in vain.
    package var refusal: ResponseAccount.Refusal? { bound.isLifted ? nil : bound.refusal }

    /// Returns the capacity to grow to; nil if the account grants no more.
    func grant(needed: Int, wanted: Int) -> Int? {
        guard let account, !bound.isLifted else { return wanted }
        guard bound.refusal == nil else { return nil }
        let granted = ResponseAccount.allowance + bound.taken
        guard wanted > granted else { return wanted }
        switch account.takeForText(atLeast: max(0, needed - granted), atMost: wanted - granted) {
        case .success(let more):
            bound.taken += more
            return granted + more
        case .failure(let refusal):
            bound.refusal = refusal
            return nil
        }
    }

    /// Writes what may be too much and, if it is, what must be there in its place: for the outcome of a write, which is never
    /// left out. The text is then no longer limited, so what follows must be short.
    package func bounded(_ body: () -> Void, otherwise short: () -> Void) {
        guard bound.refusal == nil else {
            liftBound()
            return short()
        }
        bound.start = count
        body()
        guard bound.refusal != nil else {
            bound.start = 0
            return
        }
        truncate(to: bound.start)
        bound.start = 0
        liftBound()
        short()
    }

    /// Lifts the limit of the account, so that the text is sent at any length, since it reports what was written.
    package func liftBound() {
        bound.isLifted = true
    }

    /// Returns to the account what was taken from it, for a text that is not sent as it is.
    package func discard() {
        account?.dropText(taken: bound.taken)
        bound.taken = 0
    }

    /// Settles with the account once the text is complete; returns why it is not.
    ///
    /// - Parameter isPart: whether other texts of the same account are part of the same response, so that this one counts however
    ///   short it is.
    package func settle(isPart: Bool = false) -> ResponseAccount.Refusal? {
        guard let account, bound.taken > 0 || bound.refusal != nil || isPart else { return nil }
        let taken = bound.taken
        bound.taken = 0
        if let refusal {
            account.dropText(taken: taken)
            return refusal
        }
        return account.settleText(taken: taken, used: count, mustFit: !bound.isLifted)
    }
}
