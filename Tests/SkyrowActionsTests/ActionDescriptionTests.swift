import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Testing

@Suite struct ActionDescriptionTests {
    @Test func everyActionIsFoundByItsName() throws {
        for (place, entry) in ActionTable.all.enumerated() {
            let name = entry.description.name
            #expect(ActionTable[name]?.description === entry.description)
            #expect(ActionTable.ordinal(of: name) == place)
        }
        #expect(ActionTable["record:nothing"] == nil)
    }

    @Test(arguments: ActionTable.all.map(\.description))
    func summariesAreSentencesAndParametersHaveNamesOfTheirOwn(of action: ActionDescription) {
        #expect(action.summary.hasSuffix("."))
        #expect(action.parameters.allSatisfy { $0.summary.hasSuffix(".") })
        #expect(Set(action.parameters.map(\.name)).count == action.parameters.count)
    }

    @Test(arguments: ActionTable.all.map(\.description))
    func requiredParametersComeFirst(of action: ActionDescription) {
        let required = action.parameters.map(\.isRequired)
        #expect(required == required.sorted { $0 && !$1 })
    }

    @Test(arguments: ActionTable.all.map(\.description))
    func errorsAreRegisteredAndNotRepeated(of action: ActionDescription) {
        let errors = action.errors + ActionDescription.commonErrors
        #expect(errors.allSatisfy { ErrorCode.names[$0] != nil })
        #expect(Set(errors).count == errors.count)
    }

    @Test func whatNeedsAUserTellsThatTheUserMayBeDisabled() {
        for action in ActionTable.all.map(\.description) {
            switch action.requirement {
            case .user, .userOrMaster, .administrator: #expect(action.errors.contains(.userDisabled))
            case .nothing, .key, .keyOrToken, .master, .masterOrDevelopment: break
            }
        }
    }
}
