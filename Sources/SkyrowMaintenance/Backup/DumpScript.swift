import Glibc
import SkyrowPostgres
import SkyrowSystem

/// A piece of the SQL that pg_restore makes of a dump's rows.
enum DumpPiece: Hashable, Sendable {
    /// Statements between tables: settings and sequence values.
    case script(String)
    /// `COPY "app"."movie" ("_id", "title") FROM stdin;`, followed by lines, or by the end.
    case copy(statement: String, table: String)
    /// Complete lines of a table, in the text form of COPY.
    case lines([UInt8], count: Int)
    case endOfCopy
}

/// Splits the SQL that pg_restore makes of a dump's rows (`--section=data`) into statements and lines.
///
/// That section contains only comments, settings, COPY and calls of setval. User text occurs only inside of a COPY,
/// where every line up to a lone `\.` is data, so it cannot be mistaken for a COPY statement.
struct DumpScript: Sendable {
    private enum Place: Sendable {
        case inScript
        /// The head of a COPY spans several lines if a name contains a line break.
        case inHead
        case inLines
    }

    private var place = Place.inScript
    private var statement: [UInt8] = []
    /// An incomplete line.
    private var rest: [UInt8] = []

    /// Takes the next bytes, or none at the end, and returns the pieces that they complete.
    ///
    /// Throws ``ToolError`` if the text ends inside of a table.
    mutating func take(_ bytes: [UInt8]) throws(ToolError) -> [DumpPiece] {
        var pieces: [DumpPiece] = []
        guard !bytes.isEmpty else {
            guard place == .inScript, rest.isEmpty else { throw .failure("The rows of the archive are truncated.") }
            endScript(&pieces)
            return pieces
        }
        let text = rest + bytes
        guard let last = text.lastIndex(of: UInt8(ascii: "\n")) else {
            rest = text
            return []
        }
        var cursor = text.startIndex
        while cursor <= last {
            switch place {
            case .inScript, .inHead:
                let end = text[cursor...].firstIndex(of: UInt8(ascii: "\n")) ?? last
                takeLine(text[cursor...end], &pieces)
                cursor = end + 1
            case .inLines:
                cursor = takeRows(text[cursor...last], &pieces)
            }
        }
        rest = Array(text[(last + 1)...])
        return pieces
    }

    private mutating func takeLine(_ line: ArraySlice<UInt8>, _ pieces: inout [DumpPiece]) {
        if place == .inScript {
            // psql commands that restrict a script to SQL.
            if line.starts(with: "\\restrict ".utf8) || line.starts(with: "\\unrestrict ".utf8) { return }
            if line.starts(with: "COPY ".utf8) {
                endScript(&pieces)
                place = .inHead
            }
        }
        statement += line
        guard place == .inHead, line.reversed().starts(with: " FROM stdin;\n".utf8.reversed()) else { return }
        let text = String(decoding: statement.dropLast(), as: UTF8.self)
        pieces.append(.copy(statement: text, table: DumpScript.table(of: text)))
        statement = []
        place = .inLines
    }

    /// Takes lines to the end of the table or of the input, and returns the position after them.
    private mutating func takeRows(_ lines: ArraySlice<UInt8>, _ pieces: inout [DumpPiece]) -> Int {
        let (length, count, isComplete) = lines.withUnsafeBytes { DumpScript.rows(in: $0) }
        if count > 0 { pieces.append(.lines(Array(lines.prefix(length)), count: count)) }
        guard isComplete else { return lines.endIndex }
        pieces.append(.endOfCopy)
        place = .inScript
        return lines.startIndex + length + 3
    }

    /// Returns the number of bytes and lines before `\.`, and whether it was found.
    private static func rows(in lines: UnsafeRawBufferPointer) -> (length: Int, count: Int, isComplete: Bool) {
        var start = 0
        var count = 0
        while let line = lines.baseAddress, start < lines.count {
            let isEnd =
                lines[start] == UInt8(ascii: "\\") && lines.count - start >= 3
                && lines[start + 1] == UInt8(ascii: ".") && lines[start + 2] == UInt8(ascii: "\n")
            if isEnd { return (start, count, true) }
            guard let end = memchr(line + start, 0x0A, lines.count - start) else { break }
            start = UnsafeRawPointer(end) - line + 1
            count += 1
        }
        return (start, count, false)
    }

    private mutating func endScript(_ pieces: inout [DumpPiece]) {
        if statement.contains(where: { $0 != UInt8(ascii: "\n") }) {
            pieces.append(.script(String(decoding: statement, as: UTF8.self)))
        }
        statement = []
    }

    /// Returns the table of `COPY "app"."movie" (…) FROM stdin;`. pg_dump quotes all names.
    static func table(of statement: String) -> String {
        var name = ""
        var isQuoted = false
        var characters = statement.unicodeScalars.dropFirst("COPY ".count)
        while let character = characters.popFirst() {
            if character == "\"" {
                if isQuoted, characters.first == "\"" {
                    characters.removeFirst()
                    name.unicodeScalars.append("\"")
                } else {
                    isQuoted.toggle()
                }
            } else if isQuoted {
                name.unicodeScalars.append(character)
            } else if character == "." {
                name = ""
            } else {
                break
            }
        }
        return name
    }
}

/// A foreign key in the SQL of pg_restore, with all names quoted.
///
/// ```
/// ALTER TABLE ONLY "app_internal"."_live_ticket"
///     ADD CONSTRAINT "_live_ticket_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "app_internal"."_session"("id") ON DELETE CASCADE;
/// ```
struct DumpReference: Hashable, Sendable {
    /// The referencing table, without its schema.
    var table: String
    /// The referenced table.
    var target: String
    /// The statement that deletes rows with dangling references.
    var removal: String
}

extension DumpReference {
    /// Returns the foreign keys between an application's tables in a script.
    static func all(in script: String, of schema: SQLIdentifier) -> [DumpReference] {
        let homes: Set = [schema.quoted, schema.internal.quoted]
        var found: [DumpReference] = []
        var previous = Substring()
        for line in script.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("    ADD CONSTRAINT "),
                let reference = DumpReference(head: previous, constraint: line, homes)
            {
                found.append(reference)
            }
            previous = line
        }
        return found
    }

    private init?(head: Substring, constraint: Substring, _ homes: Set<String>) {
        guard let table = head.wholeMatch(of: #/ALTER TABLE (?:ONLY )?(("(?:[^"]|"")+")\.("(?:[^"]|"")+"))/#),
            let words = constraint.prefixMatch(
                of:
                    #/    ADD CONSTRAINT "(?:[^"]|"")+" FOREIGN KEY (\((?:"(?:[^"]|"")+"(?:, )?)+\)) REFERENCES (("(?:[^"]|"")+")\.("(?:[^"]|"")+")) ?\(((?:"(?:[^"]|"")+"(?:, )?)+)\)/#
            ), homes.contains(String(table.2)), homes.contains(String(words.3))
        else { return nil }
        self.table = DumpReference.unquoted(table.3)
        target = DumpReference.unquoted(words.4)
        let columns = words.1
        removal = """
            DELETE FROM \(table.1) WHERE \(columns) IS NOT NULL AND \(columns) NOT IN (SELECT \(words.5) FROM \(words.2))
            """
    }

    private static func unquoted(_ name: Substring) -> String {
        String(name.dropFirst().dropLast()).replacing("\"\"", with: "\"")
    }
}
