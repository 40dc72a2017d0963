package import SkyrowModel

extension JSONWriter {
    /// How far a text has come that is bounded by an account.
    struct Bound {
        /// What was taken from the account.
        var taken = 0
        /// Why there is no more; what is written from then on is lost.
        var refusal: ResponseAccount.Refusal?
        /// Whether the text goes on without regard to the account.
        var isLifted = false
        /// Where the text begins that may be lost.
        var start = 0
    }

    /// Why the text is not complete; looked at between its parts, so that nothing is written in vain for long.
    package var refusal: ResponseAccount.Refusal? { bound.isLifted ? nil : bound.refusal }

    /// The capacity to grow to; nil when the account has no more.
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

    /// Writes what may be too much, and in its place, when it is, what must be there: for the outcome of a write, which
    /// is never left out. From then on the text is not bounded, so that what follows has to be short.
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

    /// Lets the text go on without regard to the account, and be sent however long it is, since it reports what was written.
    package func liftBound() {
        bound.isLifted = true
    }

    /// Gives back to the account what was taken, for a text that is not sent as it is.
    package func discard() {
        account?.dropText(taken: bound.taken)
        bound.taken = 0
    }

    /// Settles with the account once the text is complete; returns why it is not.
    ///
    /// - Parameter isPart: whether other texts of the same account make one response with it, so that it counts however
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
