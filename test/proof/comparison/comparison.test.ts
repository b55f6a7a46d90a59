import { APPLES_OWN } from "./attacks/apples-own.ts";
import { CERTIFICATES } from "./attacks/certificates.ts";
import { FORMS } from "./attacks/forms.ts";
import { OTHER_PAYLOADS } from "./attacks/notifications.ts";
import { TRANSACTION_PAYLOADS } from "./attacks/payloads.ts";
import { ACCEPTED, apples, ours } from "./verdicts.ts";

/** The same bytes to this service and to `SignedDataVerifier` of `@apple/app-store-server-library`. */

const GROUPS = [APPLES_OWN, ...FORMS, ...CERTIFICATES, ...TRANSACTION_PAYLOADS, ...OTHER_PAYLOADS];

describe.each(GROUPS)("$title", ({ rows }) => {
  test.each(rows)("$name", async ({ jws, kind, setting, genuine, why }) => {
    const [here, there] = [await ours(jws, kind, setting), await apples(jws, kind, setting)];
    const isAcceptedThere = genuine === true || why !== undefined;
    expect({ here, isAcceptedHere: here === ACCEPTED }).toEqual({
      here,
      isAcceptedHere: genuine === true,
    });
    expect({ there, isAcceptedThere: there === ACCEPTED }).toEqual({ there, isAcceptedThere });
  });
});
