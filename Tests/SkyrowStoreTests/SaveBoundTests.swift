import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// How many statements a request takes whose records are refused, counted in PostgreSQL's own log.
@Suite(.timeLimit(.minutes(60))) struct SaveBoundTests {
    @Test func aRequestOfBadRecordsIsABoundedNumberOfStatements() async throws {
        let once: (inout PostgresConfiguration) -> Void = { $0.sendsSlowStatementsOnce() }
        try await withRecords(on: .logging(), configure: once) { f in
            try await f.psql("CREATE UNIQUE INDEX ON note (stars)")
            try await f.save([draft("category/1"), draft("note/one", ["stars": .integer(7)])])

            func save(
                _ drafts: [RecordDraft],
                atMost bound: Int,
                atomic: Bool = false
            ) async throws -> Result<[RecordOutcome], SkyrowError> {
                var result: Result<[RecordOutcome], SkyrowError> = .success([])
                let sent = try await f.database.statements {
                    do {
                        let items = drafts.map { SaveRequest.Item.draft($0) }
                        result = .success(try await f.store.save(items, in: .everyone, caller: .ann, atomic: atomic))
                    } catch let error as SkyrowError {
                        result = .failure(error)
                    }
                }
                #expect(sent.count { $0.contains("\"app\".") } <= bound)
                return result
            }
            func note(_ number: Int, _ category: String) -> RecordDraft {
                draft("note/\(number)", ["category": .reference(id("category/\(category)"))])
            }

            // All bad
            let all = try await save((0..<10_000).map { note($0, "404") }, atMost: 3).get()
            #expect(all.allSatisfy { $0.error?.code == .invalidArgument })
            #expect(all[5].error?.info["arguments"] == .list([.string("category")]))
            // Every other one bad
            let some = try await save((0..<2000).map { note($0, $0.isMultiple(of: 2) ? "1" : "404") }, atMost: 4).get()
            for (number, outcome) in some.enumerated() { #expect((outcome.error == nil) == number.isMultiple(of: 2)) }
            // Atomic
            let atomic = try await save((0..<2000).map { note($0 + 5000, "404") }, atMost: 3, atomic: true)
            guard case .failure(let error) = atomic else { throw UnexpectedOutcome() }
            #expect(error.code == .atomicOperationFailure && error.info.count == 2000)
            // A long chain whose end refers to nothing, another whose end is there, and a ring
            let chain = (0..<1000).map { draft("note/c\($0)", ["next": .reference(id("note/c\($0 + 1)"))]) }
            #expect(try await save(chain, atMost: 3).get().allSatisfy { $0.error?.code == .invalidArgument })
            let ring = (0..<1000).map { draft("note/r\($0)", ["next": .reference(id("note/r\(($0 + 1) % 1000)"))]) }
            #expect(try await save(ring + chain, atMost: 6).get().count { $0.error == nil } == 1000)
            // Values that another record has cannot be looked up; the search for them ends.
            let doubles = try await save(
                (0..<10_000).map { draft("note/d\($0)", ["stars": .integer(7)]) },
                atMost: 2 * WriteContext.refusedStatements + 1
            ).get()
            #expect(doubles.allSatisfy { [.duplicated, .overloaded].contains($0.error?.code) })
            #expect(doubles.contains { $0.error?.code == .duplicated })
        }
    }

    @Test func aTriggerThatNamesAFieldThatIsGoneIsNotTriedForEver() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                CREATE FUNCTION faulty() RETURNS trigger LANGUAGE plpgsql AS
                    $$BEGIN NEW.title := (SELECT missing FROM category); RETURN NEW; END$$;
                CREATE TRIGGER faulty BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION faulty();
                """
            )
            let outcomes = try await f.store.save([.draft(draft("note/1"))], in: .everyone, caller: .ann, atomic: false)
            #expect(outcomes[0].error == .schemaMoved)
        }
    }

    @Test func aMovingSchemaIsFollowedAndAStandingOneIsNot() {
        var retry = SchemaRetry()
        #expect(retry.pause(isChanged: true, namesSchema: true) == .zero)
        for _ in 2..<SchemaRetry.maximum { #expect(retry.pause(isChanged: true, namesSchema: true) != nil) }
        #expect(retry.pause(isChanged: true, namesSchema: true) == nil)
        retry = SchemaRetry()
        for _ in 1..<SchemaRetry.maximumUnchanged { #expect(retry.pause(isChanged: false, namesSchema: true) != nil) }
        #expect(retry.pause(isChanged: false, namesSchema: true) == nil)
        retry = SchemaRetry()
        #expect(retry.pause(isChanged: false, namesSchema: false) == nil)
    }
}
