-- Changes of the schema that the service makes itself are announced by the service, with the names of the types.

CREATE OR REPLACE FUNCTION _announce_schema() RETURNS event_trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
    -- The service tells of its own changes, and of which types.
    IF current_setting('skyrow.announced', true) = 'on' THEN
        RETURN;
    END IF;
    IF TG_EVENT = 'sql_drop' THEN
        IF NOT EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE schema_name = current_schema()) THEN
            RETURN;
        END IF;
    ELSIF NOT EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE schema_name = current_schema()) THEN
        RETURN;
    END IF;
    PERFORM pg_notify('skyrow_schema', current_schema());
END $$;
