import type { Answer } from "../server.ts";
import { Table, Time, Value } from "./text.tsx";

/** Last version that was told of an account, and the messages that wait. */
export const Told = ({ told }: { readonly told: Answer<"account">["told"] }) => {
  if (told === null) return <p>The application is told of no changes.</p>;
  return (
    <>
      <p>
        {told.version === 0 ? (
          "Nothing was told yet."
        ) : (
          <>
            Version {told.version}, told <Time at={told.toldAt} none="more than 30 days ago" />:{" "}
            <Value>
              {told.entitlements
                ?.map(({ displayName, status }) => `${displayName} ${status.replaceAll("_", " ")}`)
                .join(", ") || "no entitlements"}
            </Value>
            .
          </>
        )}{" "}
        {told.nextLookAt !== null && (
          <>
            It changes by itself at <Time at={told.nextLookAt} />.
          </>
        )}
      </p>
      <Table
        caption="What waits"
        headings={["Destination", "Version", "Since", "Tries", "Next try"]}
        empty="The application has no destination."
        rows={told.destinations.map(({ name, waiting }) =>
          waiting === null
            ? [name, "nothing waits", "", "", ""]
            : [
                name,
                String(waiting.version),
                <Time at={waiting.since} />,
                String(waiting.tries),
                <Time at={waiting.nextTryAt} none="at once" />,
              ],
        )}
      />
    </>
  );
};
