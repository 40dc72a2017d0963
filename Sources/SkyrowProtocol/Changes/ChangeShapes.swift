import SkyrowJSON
package import SkyrowModel

/// The result of `changes:fetch`.
package struct ChangesResult: Sendable {
    /// Current records, which replace the client's versions.
    package var changed: [any RecordSource]
    /// The ids of records that the client drops, `"note/7"`, before it applies the changed ones.
    package var removed: [String]
    /// Where the client continues when the pass is over.
    package var token: String?
    /// Where the client continues inside the pass.
    package var cursor: String?
    package var reset: LiveReset?
    /// The point in time at which the pass began; nil on its later pages, and for a client.
    package var moment: ChangeMoment?

    package init(
        changed: [any RecordSource] = [],
        removed: [String] = [],
        token: String? = nil,
        cursor: String? = nil,
        reset: LiveReset? = nil,
        moment: ChangeMoment? = nil
    ) {
        self.moment = moment
        self.changed = changed
        self.removed = removed
        self.token = token
        self.cursor = cursor
        self.reset = reset
    }

    /// Whether the result has nothing but a new token.
    package var isEmpty: Bool { changed.isEmpty && removed.isEmpty && cursor == nil && reset == nil }
}

/// A page of `changes:compare`.
package struct ComparedRecords: Sendable {
    /// A record that matches and may be read.
    package struct Pair: Hashable, Sendable {
        /// The id without its type.
        package let id: String
        package let revision: Int64

        package init(id: String, revision: Int64) {
            self.id = id
            self.revision = revision
        }
    }

    /// In the order of the ids.
    package var pairs: [Pair]
    package var token: String?
    package var cursor: String?
    package var reset: LiveReset?

    package init(pairs: [Pair] = [], token: String? = nil, cursor: String? = nil, reset: LiveReset? = nil) {
        self.pairs = pairs
        self.token = token
        self.cursor = cursor
        self.reset = reset
    }
}

extension Codec<ChangesResult> {
    /// `{"changed":[…],"removed":["note/7"],"token":"…","cursor":null,"more":false,"reset":null}`
    static let changes = Codec(
        .object(
            [
                JSONMember("changed", .array(of: .named(.record)), isRequired: true),
                JSONMember("removed", .array(of: .named(.recordID)), isRequired: true),
            ] + endingMembers
        )
    ) { json, _ throws(SkyrowError) in
        var result = ChangesResult()
        (result.token, result.cursor, result.reset) = try ending(json)
        if let changed = json["changed"] {
            for record in changed.elements { result.changed.append(try Record(record)) }
        }
        if let removed = json["removed"] {
            for id in removed.elements { result.removed.append(try RecordID(id.string ?? "").description) }
        }
        return result
    } write: { result, writer in
        writer.beginObject()
        writer.key("changed")
        writer.records(result.changed)
        writer.member("removed", result.removed)
        writer.ending(token: result.token, cursor: result.cursor, reset: result.reset)
        writer.endObject()
    }
}

extension Codec<ComparedRecords> {
    /// `{"records":[["1",812]],"token":"…","cursor":null,"more":false,"reset":null}`
    static let compared = Codec(
        .object(
            [
                JSONMember(
                    "records",
                    .array(of: .tuple([.string(maximum: 255), .integer()], rest: nil)),
                    isRequired: true
                )
            ] + endingMembers
        )
    ) { json, _ throws(SkyrowError) in
        var result = ComparedRecords()
        if let records = json["records"] {
            for pair in records.elements {
                var elements = pair.elements.makeIterator()
                guard let id = elements.next()?.string, let revision = elements.next()?.wholeNumber else {
                    throw .invalidArgument("An entry must be an id and a revision.", "records")
                }
                result.pairs.append(ComparedRecords.Pair(id: id, revision: revision))
            }
        }
        (result.token, result.cursor, result.reset) = try ending(json)
        return result
    } write: { result, writer in
        writer.beginObject()
        writer.beginArray("records")
        for pair in result.pairs {
            writer.beginArray()
            writer.string(pair.id)
            writer.integer(pair.revision)
            writer.endArray()
        }
        writer.endArray()
        writer.ending(token: result.token, cursor: result.cursor, reset: result.reset)
        writer.endObject()
    }
}

// MARK: Where a client continues after a page

private let endingMembers = [
    JSONMember("token", .nullable(.string()), isRequired: true),
    JSONMember("cursor", .nullable(.string()), isRequired: true),
    JSONMember("more", .boolean, isRequired: true),
    JSONMember("reset", .nullable(.oneOfStrings(LiveReset.ofTokens.map(\.rawValue))), isRequired: true),
]

private func ending(_ json: JSONView) throws(SkyrowError) -> (token: String?, cursor: String?, reset: LiveReset?) {
    let reset = json["reset"]?.string.map { LiveReset(rawValue: $0) }
    let (token, cursor) = (json["token"]?.string, json["cursor"]?.string)
    guard token != nil || cursor != nil || reset != nil else {
        throw .invalidArgument("A page must have a token, a cursor or a reset.")
    }
    return (token, cursor, reset)
}

extension JSONWriter {
    fileprivate func ending(token: String?, cursor: String?, reset: LiveReset?) {
        key("token")
        if let token { string(token) } else { null() }
        key("cursor")
        if let cursor { string(cursor) } else { null() }
        member("more", cursor != nil)
        key("reset")
        if let reset { string(reset.rawValue) } else { null() }
    }
}
