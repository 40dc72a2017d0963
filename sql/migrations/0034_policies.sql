-- Row-level security for roles of PostgreSQL that stand for users (Documentation/Decisions/0067-policies.md). Nothing asks it before
-- skyrow policies apply.

CREATE TABLE _database_login (
    role name PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE
);
CREATE INDEX ON _database_login (user_id);
COMMENT ON TABLE _database_login IS
    'Whose records a role of PostgreSQL works with: skyrow policies apply --login role=user. The policies of record tables ask it.';
COMMENT ON COLUMN _database_login.role IS 'The role that is logged in as, session_user.';
COMMENT ON COLUMN _database_login.user_id IS 'The account.';

CREATE TABLE _policy (
    type text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('rules', 'rights', 'policy', 'trigger', 'view')),
    name text COLLATE "C" NOT NULL,
    source text NOT NULL,
    stored text NOT NULL,
    PRIMARY KEY (type, kind, name)
);
COMMENT ON TABLE _policy IS 'What skyrow policies apply made, by which skyrow policies check finds what has changed since.';
COMMENT ON COLUMN _policy.type IS 'The record type.';
COMMENT ON COLUMN _policy.kind IS 'policy, trigger or view; rules: the rules of the type that the policies were made of; rights: what database logins may name.';
COMMENT ON COLUMN _policy.name IS 'The name of the object; of rules and rights none.';
COMMENT ON COLUMN _policy.source IS 'The statement that made it; of rules what _rules_digest() was; of rights a line for each.';
COMMENT ON COLUMN _policy.stored IS 'What PostgreSQL made of the statement, as it prints that.';

-- The role that logged in, and no setting: a client may set any setting. SET ROLE does not change it, and SET SESSION
-- AUTHORIZATION is a superuser's. In plpgsql, which keeps its plans: SQL would be read and planned anew by each statement.
CREATE FUNCTION _me() RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (
        SELECT account.id FROM _database_login AS login JOIN _user AS account ON account.id = login.user_id
        WHERE login.role = session_user
            AND NOT (account.disabled AND (account.disabled_until IS NULL OR account.disabled_until > now()))
    );
END $$;
COMMENT ON FUNCTION _me() IS 'The id of the user whom this database login is; NULL for any other role, and while the account is disabled.';

-- As the service makes it of a session (Audience). Like there, a user with more roles than one may have is none.
CREATE FUNCTION _audience() RETURNS text[] LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    me text := _me();
    roles text[];
BEGIN
    IF me IS NULL THEN
        RETURN NULL;
    END IF;
    roles := ARRAY(
        WITH RECURSIVE held (role) AS (
            SELECT given.role FROM _user_role AS given WHERE given.user_id = me
            UNION SELECT up.role FROM held JOIN _role_role AS up ON up.member = held.role
        )
        SELECT 'role:' || held.role FROM held LIMIT 1001
    );
    IF cardinality(roles) > 1000 THEN
        RAISE EXCEPTION 'A user has at most 1000 roles.' USING ERRCODE = 'program_limit_exceeded';
    END IF;
    RETURN ARRAY['public', 'users', 'user:' || me] || roles
        || ARRAY(
            SELECT 'registered' FROM _user AS account
            WHERE account.id = me AND (
                account.password_hash IS NOT NULL
                OR EXISTS (SELECT FROM _identity AS identity WHERE identity.user_id = me)
            )
        )
        || ARRAY(SELECT 'group:' || carried.name FROM _user_group AS carried WHERE carried.user_id = me);
END $$;
COMMENT ON FUNCTION _audience() IS
    'The keys of all subjects that the user of this database login is, {public,users,user:ann,role:editor}; NULL for any other role.';

CREATE FUNCTION _is_related(relation text, owner text) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    me text := _me();
BEGIN
    RETURN CASE relation
        WHEN 'friend' THEN EXISTS (
            SELECT FROM _relation AS edge
            WHERE edge.user_id = me AND edge.name = 'friend' AND edge.other_id = owner AND edge.mutual
        )
        WHEN 'follower' THEN EXISTS (
            SELECT FROM _relation AS edge WHERE edge.user_id = me AND edge.name = 'follow' AND edge.other_id = owner
        )
        WHEN 'followed' THEN EXISTS (
            SELECT FROM _relation AS edge WHERE edge.other_id = me AND edge.name = 'follow' AND edge.user_id = owner
        )
        ELSE false
    END;
END $$;
COMMENT ON FUNCTION _is_related(text, text) IS
    'Whether the user of this database login is a friend of, follows (follower) or is followed by (followed) another: _is_related(''friend'', ''ann'').';

-- Without what a trigger notes of lists: policies ask for every relation.
CREATE FUNCTION _rules_digest(type text) RETURNS text LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN md5(jsonb_build_array(
        (SELECT jsonb_agg(to_jsonb(rule) ORDER BY rule.action) FROM _class_rule AS rule WHERE rule.type = $1),
        (
            SELECT jsonb_agg(to_jsonb(rule) ORDER BY rule.field, rule.action)
            FROM _field_rule AS rule WHERE rule.type = $1
        ),
        (
            SELECT to_jsonb(option) - 'relations' FROM _class_option AS option
            WHERE option.type = $1 AND NOT (
                option.default_access IS NULL AND option.list_by IS NULL AND option.transfer_by = 'master'
                AND option.private AND option.aggregate
            )
        )
    )::text);
END $$;
COMMENT ON FUNCTION _rules_digest(text) IS 'A text that is another one when the rules of a record type are others.';

-- Policies are made of rules as they were. Of a type whose rules have changed since, nothing is shown until they are made anew.
CREATE FUNCTION _may_ask(type text) RETURNS boolean LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF _me() IS NULL THEN
        RETURN false;
    END IF;
    IF (SELECT known.source FROM _policy AS known WHERE known.type = $1 AND known.kind = 'rules')
        IS DISTINCT FROM _rules_digest($1)
    THEN
        RAISE EXCEPTION 'The rules of the type % have changed; its policies are to be made anew: skyrow policies apply.', $1
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN true;
END $$;
COMMENT ON FUNCTION _may_ask(text) IS
    'Whether this database login is a user''s; refused while the policies of the record type are not those of its rules.';

-- With the rights of the role that asks, so that the policies of the other type hold.
CREATE FUNCTION _may_refer(type text, ids text[], database text) RETURNS boolean LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    found_ids bigint;
BEGIN
    EXECUTE format(
        'SELECT count(*) FROM %I AS target WHERE target._id = ANY ($1) AND target._database IN (''_public'', $2)', type
    ) INTO found_ids USING ids, database;
    RETURN found_ids = (SELECT count(DISTINCT given.id) FROM unnest(ids) AS given (id) WHERE given.id IS NOT NULL);
END $$;
COMMENT ON FUNCTION _may_refer(text, text[], text) IS
    'Whether a record of a database may refer to these records of a type: whether the role that asks reads each of them.';

-- A record that a database login writes is signed, and begins with the list that a save would give it.
CREATE FUNCTION _sign() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    me text := _me();
BEGIN
    IF me IS NULL THEN
        RETURN NEW;
    END IF;
    NEW._updated_by := me;
    IF TG_OP = 'INSERT' THEN
        NEW._created_by := me;
        NEW._owner := coalesce(NEW._owner, me);
        IF NEW._access IS NULL AND NEW._database = '_public' THEN
            NEW._access := coalesce(
                (SELECT account.default_access FROM _user AS account WHERE account.id = me),
                (SELECT option.default_access FROM _class_option AS option WHERE option.type = TG_TABLE_NAME)
            );
        END IF;
    END IF;
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _sign() IS 'Signs what a database login writes, and gives a new record its owner and its access list.';

CREATE FUNCTION _refuse_column() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION 'You may not give % of this record that value.', quote_ident(TG_ARGV[0])
        USING ERRCODE = 'insufficient_privilege', TABLE = TG_TABLE_NAME, COLUMN = TG_ARGV[0];
END $$;
COMMENT ON FUNCTION _refuse_column() IS 'Refuses a change that a database login may not make; its trigger has the condition.';

-- What a policy needs keeps a column from being dropped or given another type, so the service calls this first. The table stays
-- closed to database logins until policies are made again.
CREATE FUNCTION _close_type(type text) RETURNS void LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
DECLARE
    record_table regclass := to_regclass(format('%I', $1));
    held record;
BEGIN
    IF NOT EXISTS (SELECT FROM _policy AS known WHERE known.type = $1) THEN
        RETURN;
    END IF;
    EXECUTE format('DROP VIEW IF EXISTS %I.%I', current_schema() || '_visible', $1);
    FOR held IN
        SELECT polname AS name FROM pg_policy
        WHERE polrelid = record_table AND polname IN ('_select', '_insert', '_update', '_delete')
    LOOP
        EXECUTE format('DROP POLICY %I ON %s', held.name, record_table);
    END LOOP;
    FOR held IN
        SELECT tgname AS name FROM pg_trigger
        WHERE tgrelid = record_table AND NOT tgisinternal AND (starts_with(tgname, '_sign_') OR starts_with(tgname, '_guard_'))
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', held.name, record_table);
    END LOOP;
    IF record_table IS NOT NULL THEN
        FOR held IN
            SELECT login.role AS name FROM _database_login AS login JOIN pg_roles ON rolname = login.role
        LOOP
            EXECUTE format('REVOKE ALL ON %s FROM %I', record_table, held.name);
        END LOOP;
    END IF;
    DELETE FROM _policy AS known WHERE known.type = $1;
END $$;
COMMENT ON FUNCTION _close_type(text) IS
    'Takes away what skyrow policies apply made for a record type, and closes its table to database logins.';
