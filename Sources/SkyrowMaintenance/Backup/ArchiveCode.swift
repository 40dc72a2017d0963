import SkyrowStore

/// A function or trigger in an archive that Skyrow did not make.
///
/// The list is for operators who trust an archive's origin and want to see its contents. A malicious archive can hide
/// code from it, for instance in a view's text; the privileges of the restoring role bound that code.
package struct ArchiveCode: Hashable, Sendable {
    /// `FUNCTION`, `TRIGGER`
    package var kind: String
    /// The name as in pg_restore: `shout(text)`, `note shouts`.
    package var name: String

    /// - Parameter script: The output of pg_restore for the sections before and after the rows.
    static func foreign(in script: String) -> [ArchiveCode] {
        var found: [ArchiveCode] = []
        var code: ArchiveCode?
        var text = ""
        func end() {
            if let code, !isOwn(code, text) { found.append(code) }
            text = ""
        }
        for line in script.split(separator: "\n", omittingEmptySubsequences: false) {
            if let next = ArchiveCode(heading: line) {
                end()
                code = kinds.contains(next.kind) ? next : nil
            } else if code != nil {
                text += line + "\n"
            }
        }
        end()
        return found
    }

    private static let kinds: Set = ["FUNCTION", "PROCEDURE", "AGGREGATE", "TRIGGER", "EVENT TRIGGER", "RULE"]

    /// The scripts of everything that any Skyrow version created.
    private static let scripts = Set(Migration.all.map(\.script) + [Migration.present])

    private static func isOwn(_ code: ArchiveCode, _ text: String) -> Bool {
        guard code.kind == "FUNCTION" || code.kind == "TRIGGER" else { return false }
        if code.kind == "TRIGGER" {
            // The trigger `note _tombstone_deleted` calls `_tombstone_deleted()`. The check of functions covers that one.
            return code.name.split(separator: " ").last?.hasPrefix("_") == true
                && text.firstMatch(of: /EXECUTE FUNCTION "[^"]+"\."_[a-z_]+"\(/) != nil
        }
        guard code.name.hasPrefix("_") else { return false }
        // PostgreSQL reformats the text of these functions. One contains the revision offset of the source database,
        // another a literal, which the pattern restricts to characters that cannot end it.
        let words = text.filter { !"\"'() \n".contains($0) }
        if code.name == "_login_canonical(\"text\")" {
            let shape =
                #/
                SAFERETURNNORMALIZElowerupperlowerbtrimregexp_replaceregexp_replace
                ([A-Za-z0-9_$-]+\.)?_login_domainNORMALIZEvalue,NFKC,
                E?[\\\[\]uU0-9A-F-]+::text,::text,g::text,E?[\\\[\]uU0-9A-F-]+\+::text,::text,g::text
                COLLATE(pg_catalog\.)?(und-x-icu|default),NFKC;
                /#
            return words.firstMatch(of: shape) != nil
        }
        if code.name == "_fold(\"text\")" {
            let shape =
                #/
                SAFERETURNCASEWHENoctet_lengthvalue=lengthvalue
                THENlowervalueCOLLATE(pg_catalog\.)?CCOLLATE(pg_catalog\.)?C
                ELSEtranslatelowervalueCOLLATE(pg_catalog\.)?(und-x-icu|default)COLLATE(pg_catalog\.)?C,
                ς::text,σ::textCOLLATE(pg_catalog\.)?CEND;
                /#
            return words.firstMatch(of: shape) != nil
        }
        if code.name == "_revision()" {
            let shape =
                #/
                STABLERETURN(pg_catalog\.)?pg_current_xact_id::text::bigint\+CASEWHEN(pg_catalog\.)?pg_postmaster_start_time
                =[-0-9:.+]+(BC)?::timestampwithtimezoneTHEN-?\d+::bigint
                ELSEGREATEST-?\d+::bigint\+(pg_catalog\.)?pg_current_xact_id::text::bigint\+2147483648::bigint>>32\+1<<32,
                EXTRACTepochFROM(pg_catalog\.)?pg_postmaster_start_time\*1000::numeric::bigint-1577836800000::bigint<<11END;
                /#
            return words.firstMatch(of: shape) != nil
        }
        guard let body = text.firstMatch(of: /(?s)\n    AS (\$[a-z_]*\$)(.+)\1;\n/) else { return false }
        return scripts.contains { $0.contains(body.2) }
    }

    private init(kind: String, name: String) {
        self.kind = kind
        self.name = name
    }

    /// `-- Name: note _tombstone_deleted; Type: TRIGGER; Schema: app; Owner: -`
    private init?(heading line: Substring) {
        guard line.hasPrefix("-- Name: "), let match = line.wholeMatch(of: /-- Name: (.+); Type: ([A-Z ]+); Schema: .+/)
        else { return nil }
        self.init(kind: String(match.2), name: String(match.1))
    }
}
