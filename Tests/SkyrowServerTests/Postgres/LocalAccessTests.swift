import Testing

@testable import SkyrowServer

/// What becomes of the files by which the embedded PostgreSQL decides who may connect.
@Suite struct LocalAccessTests {
    private let access = LocalAccess(users: ["postgres", "root"])

    @Test func theRulesOfInitdbBecomePeerAndPasswords() {
        let initial = """
            # TYPE  DATABASE        USER            ADDRESS                 METHOD

            # "local" is for Unix domain socket connections only
            local   all             all                                     trust
            # IPv4 local connections:
            host    all             all             127.0.0.1/32            trust
            # IPv6 local connections:
            host    all             all             ::1/128                 trust
            local   replication     all                                     trust
            host    replication     all             127.0.0.1/32            trust
            host    replication     all             ::1/128                 trust

            """
        let expected = """
            # TYPE  DATABASE        USER            ADDRESS                 METHOD

            # "local" is for Unix domain socket connections only
            local all skyrow,skyrow_service,skyrow_replication peer map=skyrow
            local all all scram-sha-256
            local replication skyrow,skyrow_service,skyrow_replication peer map=skyrow
            # IPv4 local connections:
            # IPv6 local connections:

            """
        #expect(access.rules(inPlaceOf: initial) == expected)
        #expect(access.rules(inPlaceOf: expected) == expected)
    }

    /// What a person has written stays as it is.
    @Test(arguments: ["local all ann trust\n", "host all all 10.0.0.0/8 trust\n", "local all all md5", "", "# trust"])
    func otherRulesStay(text: String) {
        #expect(access.rules(inPlaceOf: text) == text)
    }

    @Test func theMapNamesTheUsersOfThisStart() {
        let before = "# MAPNAME SYSTEM-USERNAME PG-USERNAME\nother ann bob\nskyrow \"old\" skyrow\n"
        let expected = """
            # MAPNAME SYSTEM-USERNAME PG-USERNAME
            other ann bob
            skyrow "postgres" skyrow
            skyrow "postgres" skyrow_service
            skyrow "postgres" skyrow_replication
            skyrow "root" skyrow
            skyrow "root" skyrow_service
            skyrow "root" skyrow_replication

            """
        #expect(access.mapping(inPlaceOf: before) == expected)
        #expect(access.mapping(inPlaceOf: expected) == expected)
    }
}
