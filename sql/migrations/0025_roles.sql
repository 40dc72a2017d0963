-- Roles contain roles and have an access list of their own, users carry groups, and users are friends and followers of each
-- other (Documentation/Decisions/0053-roles.md).

ALTER TABLE _role
    ADD COLUMN access jsonb CHECK (_reserved_columns_fit('role', '_public', access)),
    ADD COLUMN owner text COLLATE "C" REFERENCES _user (id) ON DELETE SET NULL,
    ADD COLUMN created_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN _revision bigint NOT NULL DEFAULT _revision();
COMMENT ON COLUMN _role.access IS
    'Who reads the role with its members, changes them (update) and deletes it, {"user:ann": "update"}; NULL: administrators alone.';
COMMENT ON COLUMN _role.owner IS 'The id of the user who made the role, and passes its access list where it has one.';
COMMENT ON COLUMN _role.created_at IS 'When the role was made.';
COMMENT ON COLUMN _role.updated_at IS 'When the role was last changed; its members are not part of it.';
COMMENT ON COLUMN _role._revision IS 'A number that grows with every change; see _revision().';

CREATE FUNCTION _stamp_role() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    NEW._revision := _revision();
    NEW.updated_at := now();
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _stamp_role() IS 'Gives a role that is changed its new revision and time.';
CREATE INDEX ON _role (owner) WHERE owner IS NOT NULL;
CREATE TRIGGER _stamp BEFORE UPDATE ON _role FOR EACH ROW
    WHEN (NEW.* IS DISTINCT FROM OLD.*) EXECUTE FUNCTION _stamp_role();

-- Also for those who may make a role and may not read what was deleted.
CREATE FUNCTION _check_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF octet_length(NEW.name) NOT BETWEEN 1 AND 64 OR NEW.name IS NOT NFC NORMALIZED
        OR NEW.name COLLATE "C" ~ '[\u0001-\u001F\u007F-\u009F]'
        OR NEW.name COLLATE "C" ~ '^[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]'
        OR NEW.name COLLATE "C" ~ '[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]$'
    THEN
        RAISE EXCEPTION 'A role is named by 1 to 64 bytes in the form NFC, without control characters and without a space at either end.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_name', TABLE = '_role';
    END IF;
    -- Access lists go on naming a role that is gone, and would admit the users of a new one of its name.
    IF EXISTS (
        SELECT FROM _tombstone
        WHERE type = '_role' AND id = NEW.name COLLATE "C" AND deleted_at > now() - interval '30 days'
    ) THEN
        RAISE EXCEPTION 'A role of this name was deleted within the last 30 days.'
            USING ERRCODE = 'unique_violation', CONSTRAINT = '_role_deleted', TABLE = '_role',
                HINT = 'DELETE FROM _tombstone WHERE type = ''_role'' AND id = the name; records may still name the old role.';
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_role() IS
    'Refuses a new role whose name is not fit for one, or was that of a role which was deleted within 30 days.';
-- After the row is there, so that a role that exists is not asked about by an insert that meets it.
CREATE TRIGGER _check_role AFTER INSERT OR UPDATE OF name ON _role FOR EACH ROW EXECUTE FUNCTION _check_role();

CREATE FUNCTION _tombstone_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO _tombstone (type, id, database, owner, access, revision)
        SELECT '_role', name, '_public', owner, access, _revision() FROM _role
        ON CONFLICT DO NOTHING;
    ELSIF TG_OP = 'DELETE' OR NEW.name <> OLD.name THEN
        INSERT INTO _tombstone (type, id, database, owner, access, revision)
        VALUES ('_role', OLD.name, '_public', OLD.owner, OLD.access, _revision())
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _tombstone_role() IS 'Leaves a tombstone for a role that was deleted, or given another name.';
CREATE TRIGGER _tombstone AFTER DELETE OR UPDATE OF name ON _role FOR EACH ROW EXECUTE FUNCTION _tombstone_role();
CREATE TRIGGER _tombstone_truncated BEFORE TRUNCATE ON _role FOR EACH STATEMENT EXECUTE FUNCTION _tombstone_role();
CREATE INDEX ON _tombstone (id) WHERE type = '_role';

-- The members of a role are listed by pages, in the order of this one.
DROP INDEX IF EXISTS _user_role_role_idx;
CREATE INDEX ON _user_role (role, user_id);

CREATE TABLE _role_role (
    role text NOT NULL REFERENCES _role (name) ON UPDATE CASCADE ON DELETE CASCADE,
    member text NOT NULL REFERENCES _role (name) ON UPDATE CASCADE ON DELETE CASCADE,
    PRIMARY KEY (role, member)
);
CREATE INDEX ON _role_role (member, role);
COMMENT ON TABLE _role_role IS 'Which roles contain which: the users of one count as users of the other.';
COMMENT ON COLUMN _role_role.role IS 'The role that contains the other one.';
COMMENT ON COLUMN _role_role.member IS 'The role whose users have it.';

CREATE FUNCTION _held_roles(roles text[]) RETURNS SETOF text LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    WITH RECURSIVE held (role) AS (
        SELECT DISTINCT given.role FROM unnest(roles) AS given (role)
        UNION SELECT up.role FROM held JOIN _role_role AS up ON up.member = held.role
    )
    SELECT held.role FROM held LIMIT 1001
$$;
COMMENT ON FUNCTION _held_roles(text[]) IS
    'These roles and all that contain them, up to 1,001 of them: SELECT _held_roles(ARRAY[''editor'']).';

-- Additions wait for each other: two of them, each of which would be right alone, could make a circle.
CREATE FUNCTION _check_role_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    reached text[] := ARRAY[NEW.role];
    reached_from integer[] := ARRAY[0];
    place integer := 1;
    circle text[];
    above text;
BEGIN
    PERFORM pg_advisory_xact_lock(1936423283, TG_RELID::integer);
    WHILE place <= cardinality(reached) LOOP
        IF reached[place] = NEW.member THEN
            WHILE place > 0 LOOP
                circle := reached[place] || circle;
                place := reached_from[place];
            END LOOP;
            RAISE EXCEPTION 'A role does not contain itself, not by way of others either.'
                USING ERRCODE = 'check_violation', CONSTRAINT = '_role_circle', TABLE = TG_TABLE_NAME,
                    DETAIL = to_jsonb(NEW.member || circle)::text;
        END IF;
        FOR above IN SELECT up.role FROM _role_role AS up WHERE up.member = reached[place] ORDER BY up.role LOOP
            IF above <> ALL (reached) THEN
                reached := reached || above;
                reached_from := reached_from || place;
            END IF;
        END LOOP;
        EXIT WHEN cardinality(reached) > 1000;
        place := place + 1;
    END LOOP;
    IF (SELECT count(*) FROM _held_roles(ARRAY[NEW.member])) > 1000 THEN
        RAISE EXCEPTION 'The users of a role have at most 1000 roles by it.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_role_role() IS
    'Refuses that a role contains itself by way of others, and that one role gives more than 1,000.';
CREATE TRIGGER _check_role_role AFTER INSERT OR UPDATE ON _role_role
    FOR EACH ROW EXECUTE FUNCTION _check_role_role();

CREATE FUNCTION _check_user_role() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT user_id FROM new_row) AS account
        WHERE (
            SELECT count(*) FROM _held_roles(ARRAY(
                SELECT given.role FROM _user_role AS given WHERE given.user_id = account.user_id
            ))
        ) > 1000
    ) THEN
        RAISE EXCEPTION 'A user has at most 1000 roles.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_role_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_user_role() IS 'Refuses to give a user more than 1,000 roles, with those that contain them.';
CREATE TRIGGER _check_user_role AFTER INSERT ON _user_role REFERENCING NEW TABLE AS new_row
    FOR EACH STATEMENT EXECUTE FUNCTION _check_user_role();

CREATE TABLE _user_group (
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, name)
);
CREATE INDEX ON _user_group (name, user_id);
COMMENT ON TABLE _user_group IS 'The groups of users, which access lists name: tags without anything of their own.';
COMMENT ON COLUMN _user_group.user_id IS 'The account.';
COMMENT ON COLUMN _user_group.name IS 'The group.';

CREATE FUNCTION _check_user_group() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (
        SELECT FROM new_row
        WHERE octet_length(name) NOT BETWEEN 1 AND 64 OR name IS NOT NFC NORMALIZED
            OR name ~ '[\u0001-\u001F\u007F-\u009F]'
            OR name ~ '^[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]'
            OR name ~ '[ \u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]$'
    ) THEN
        RAISE EXCEPTION 'A group is named by 1 to 64 bytes in the form NFC, without control characters and without a space at either end.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_group_name', TABLE = TG_TABLE_NAME;
    END IF;
    -- Of two additions for one user, the later one counts what the earlier one added.
    PERFORM FROM _user AS account WHERE account.id IN (SELECT user_id FROM new_row) ORDER BY account.id FOR NO KEY UPDATE;
    IF EXISTS (
        SELECT FROM _user_group AS given WHERE given.user_id IN (SELECT user_id FROM new_row)
        GROUP BY given.user_id HAVING count(*) > 200
    ) THEN
        RAISE EXCEPTION 'A user has at most 200 groups.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_group_count', TABLE = TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _check_user_group() IS 'Refuses groups whose name is not fit for one, and more than 200 of a user.';
CREATE TRIGGER _check_user_group_inserted AFTER INSERT ON _user_group REFERENCING NEW TABLE AS new_row
    FOR EACH STATEMENT EXECUTE FUNCTION _check_user_group();
CREATE TRIGGER _check_user_group_updated AFTER UPDATE ON _user_group REFERENCING NEW TABLE AS new_row
    FOR EACH STATEMENT EXECUTE FUNCTION _check_user_group();

CREATE TRIGGER _announce_all AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON _role_role
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();
CREATE TRIGGER _announce AFTER INSERT OR UPDATE OR DELETE ON _user_group
    FOR EACH ROW EXECUTE FUNCTION _announce_user_role();
CREATE TRIGGER _announce_all AFTER TRUNCATE ON _user_group
    FOR EACH STATEMENT EXECUTE FUNCTION _announce_all_sessions();

CREATE TABLE _relation (
    user_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL CHECK (name IN ('friend', 'follow', 'block')),
    other_id text COLLATE "C" NOT NULL REFERENCES _user (id) ON DELETE CASCADE,
    mutual boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, name, other_id) INCLUDE (mutual),
    CHECK (user_id <> other_id)
);
CREATE INDEX ON _relation (other_id, name, user_id) INCLUDE (mutual);
COMMENT ON TABLE _relation IS 'What users are to each other by their own doing: friends, followers, and those who are kept away.';
COMMENT ON COLUMN _relation.user_id IS 'The account that made the relation.';
COMMENT ON COLUMN _relation.name IS 'friend, follow or block.';
COMMENT ON COLUMN _relation.other_id IS 'The account that it is about.';
COMMENT ON COLUMN _relation.mutual IS 'Whether the other account has the same relation to this one; kept by a trigger. A friend is one where it is so.';
COMMENT ON COLUMN _relation.created_at IS 'When the relation was made.';

CREATE FUNCTION _relation_lock(one text, other text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hashtext(least(one COLLATE "C", other COLLATE "C") || '/' || greatest(one COLLATE "C", other COLLATE "C")) & 255
$$;
COMMENT ON FUNCTION _relation_lock(text, text) IS
    'The number of the lock under which the relations of two users are changed; 256 of them, so that a change of many takes few.';

-- Each row of a pair says whether there is the other one, so that one look-up answers. Two changes of a pair wait for each
-- other: each would miss what the other one is about to commit.
CREATE FUNCTION _keep_mutual() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.user_id, NEW.name, NEW.other_id) IS DISTINCT FROM (OLD.user_id, OLD.name, OLD.other_id) THEN
        RAISE EXCEPTION 'A relation is deleted and made anew, not changed into another one.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_relation_moved', TABLE = TG_TABLE_NAME;
    END IF;
    PERFORM pg_advisory_xact_lock(1936423284, _relation_lock(NEW.user_id, NEW.other_id));
    IF TG_OP = 'INSERT' AND NEW.name <> 'block' AND EXISTS (
        SELECT FROM _relation AS barrier WHERE barrier.name = 'block' AND (
            barrier.user_id = NEW.user_id AND barrier.other_id = NEW.other_id
            OR barrier.user_id = NEW.other_id AND barrier.other_id = NEW.user_id
        )
    ) THEN
        RAISE EXCEPTION 'One of the users has blocked the other.'
            USING ERRCODE = 'check_violation', CONSTRAINT = '_relation_blocked', TABLE = TG_TABLE_NAME;
    END IF;
    NEW.mutual := EXISTS (
        SELECT FROM _relation AS back
        WHERE back.user_id = NEW.other_id AND back.name = NEW.name AND back.other_id = NEW.user_id
    );
    RETURN NEW;
END $$;
COMMENT ON FUNCTION _keep_mutual() IS 'Says in a relation whether the other user has it, too, and refuses one where there is a block.';
CREATE TRIGGER _keep_mutual BEFORE INSERT OR UPDATE ON _relation FOR EACH ROW EXECUTE FUNCTION _keep_mutual();

CREATE FUNCTION _keep_mutual_back() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM pg_advisory_xact_lock(1936423284, _relation_lock(OLD.user_id, OLD.other_id));
        UPDATE _relation AS back SET mutual = false
        WHERE back.user_id = OLD.other_id AND back.name = OLD.name AND back.other_id = OLD.user_id AND back.mutual;
    ELSIF NEW.name = 'block' THEN
        DELETE FROM _relation AS ended WHERE ended.name <> 'block' AND (
            ended.user_id = NEW.user_id AND ended.other_id = NEW.other_id
            OR ended.user_id = NEW.other_id AND ended.other_id = NEW.user_id
        );
    ELSE
        UPDATE _relation AS back SET mutual = true
        WHERE back.user_id = NEW.other_id AND back.name = NEW.name AND back.other_id = NEW.user_id AND NOT back.mutual;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION _keep_mutual_back() IS 'Says the same in the relation of the other user, and ends what a block ends.';
CREATE TRIGGER _keep_mutual_back AFTER INSERT OR DELETE ON _relation FOR EACH ROW EXECUTE FUNCTION _keep_mutual_back();
