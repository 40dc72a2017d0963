/// Whom a rule about a field allows something: a set of subjects, or an order of subjects that are allowed and denied it.
///
/// The first subject that a caller is decides, and one that is none of them is denied. Without a denial the order makes no
/// difference, so such a rule is kept in the order of ``Subject``.
///
/// ```swift
/// let staff: FieldSubjects = [.owner, .role("staff")]
/// let others = FieldSubjects([.init(.role("guest"), allows: false), .init(.users)])  // every user but guests
/// ```
public struct FieldSubjects: Hashable, Sendable {
    /// A subject, and whether it is allowed or denied.
    public struct Entry: Hashable, Sendable {
        public let subject: Subject
        public let allows: Bool

        /// - Parameters:
        ///   - subject: whom the entry means.
        ///   - allows: whether that is allowed; false denies it, whatever comes behind.
        public init(_ subject: Subject, allows: Bool = true) {
            self.subject = subject
            self.allows = allows
        }
    }

    /// The entries in the order in which they are looked at; each subject is there once.
    public let entries: [Entry]

    /// A rule of entries, of which the first about a subject counts.
    ///
    /// - Parameter entries: in the order in which they are looked at.
    public init(_ entries: [Entry]) {
        var known: Set<Subject> = []
        let kept = entries.filter { known.insert($0.subject).inserted }
        let isSet = kept.allSatisfy(\.allows)
        self.entries = isSet ? kept.sorted { $0.subject < $1.subject } : kept
    }

    /// A rule that allows it to some subjects, and denies it to no one who is one of them.
    ///
    /// - Parameter subjects: whom it allows; none for the master key alone.
    public init(_ subjects: some Sequence<Subject>) {
        self.init(subjects.map { Entry($0) })
    }

    /// Whether the rule allows it to the master key alone.
    public var isEmpty: Bool { entries.isEmpty }

    /// Whether a subject is denied, so that the order counts.
    public var hasDenials: Bool { entries.contains { !$0.allows } }

    /// The subjects in their order, allowed and denied.
    public var subjects: [Subject] { entries.map(\.subject) }

    /// Whether every user is allowed it.
    package var allowsEveryUser: Bool {
        !hasDenials && entries.contains { $0.subject == .everyone || $0.subject == .users }
    }
}

extension FieldSubjects: ExpressibleByArrayLiteral {
    public init(arrayLiteral subjects: Subject...) {
        self.init(subjects)
    }
}

/// What tables hold: the key of a subject, behind `!` where it is denied.
extension FieldSubjects {
    package var keys: [String] {
        entries.map { $0.allows ? $0.subject.key : "!" + $0.subject.key }
    }

    /// nil where a key means no subject that a rule about the use may name.
    package init?(keys: [String], for use: FieldUse) {
        var entries: [Entry] = []
        for key in keys {
            let isDenied = key.utf8.first == UInt8(ascii: "!")
            let name = isDenied ? String(decoding: key.utf8.dropFirst(), as: UTF8.self) : key
            guard let subject = Subject(key: name), subject.fits(use), !isDenied || subject.isDeniable else {
                return nil
            }
            entries.append(Entry(subject, allows: !isDenied))
        }
        self.init(entries)
    }
}
