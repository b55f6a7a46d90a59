import { applicationId } from "../../lib/identifiers.ts";
import { OVERLAP_MILLISECONDS, secretOf, signingSecrets } from "../../lib/delivery/signing-secrets.ts";
import { NOW } from "../../testing/support/stores/purchases.ts";

const MASTER = Buffer.alloc(32, 7);
const APPLICATION = applicationId("0198c0de-0000-7000-8000-000000000001");

const destinationWith = (secretEpochs: readonly number[]) => ({
  name: "backend",
  url: "https://api.example.com/hooks",
  secretEpochs,
});

test.each([
  ["one that was never rotated", [], NOW, [0]],
  ["the only secret", [NOW], NOW, [NOW]],
  ["a rotation", [NOW, 5, 3], NOW, [NOW, 5]],
  ["the last moment of the overlap", [NOW, 5], NOW + OVERLAP_MILLISECONDS - 1, [NOW, 5]],
  ["the end of the overlap", [NOW, 5], NOW + OVERLAP_MILLISECONDS, [NOW]],
])("the newest secret signs, and the previous one for a day: %s", (_, epochs, moment, signing) => {
  const destination = destinationWith(epochs);
  expect(signingSecrets(MASTER, APPLICATION, destination, moment)).toEqual(
    signing.map((epoch) => secretOf(MASTER, APPLICATION, destination, epoch)),
  );
});
