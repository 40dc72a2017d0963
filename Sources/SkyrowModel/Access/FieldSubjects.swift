/// The subjects that a rule about a field allows a use: a set, or a sequence of allowed and denied subjects.
///
/// The first entry that names the caller decides; a caller that no entry names is denied. Without a denial the order makes no
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
        ///   - subject: the subject of the entry.
        ///   - allows: whether the subject is allowed; false denies it, regardless of later entries.
        public init(_ subject: Subject, allows: Bool = true) {
            self.subject = subject
            self.allows = allows
        }
    }

    /// The entries in the order of evaluation; each subject occurs once.
    public let entries: [Entry]

    /// Creates a rule from entries, of which the first about a subject counts.
    ///
    /// - Parameter entries: in the order of evaluation.
    public init(_ entries: [Entry]) {
        var known: Set<Subject> = []
        let kept = entries.filter { known.insert($0.subject).inserted }
        let isSet = kept.allSatisfy(\.allows)
        self.entries = isSet ? kept.sorted { $0.subject < $1.subject } : kept
    }

    /// Creates a rule that allows these subjects, without denials.
    ///
    /// - Parameter subjects: the allowed subjects; none for the master key only.
    public init(_ subjects: some Sequence<Subject>) {
        self.init(subjects.map { Entry($0) })
    }

    /// Whether the rule allows only the master key.
    public var isEmpty: Bool { entries.isEmpty }

    /// Whether a subject is denied, so that the order counts.
    public var hasDenials: Bool { entries.contains { !$0.allows } }

    /// The subjects in their order, allowed and denied.
    public var subjects: [Subject] { entries.map(\.subject) }
}

extension FieldSubjects: ExpressibleByArrayLiteral {
    public init(arrayLiteral subjects: Subject...) {
        self.init(subjects)
    }
}

/// The form in tables: the key of a subject, after `!` when it is denied.
extension FieldSubjects {
    package var keys: [String] { entries.map { $0.allows ? $0.subject.key : "!" + $0.subject.key } }

    /// nil when a key names no subject that a rule about the use may name.
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
