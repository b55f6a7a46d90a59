import { useEffect, useRef, useState } from "preact/hooks";
import type { ActRequest } from "../../operator/console/calls.ts";
import { type Answer, callWithWarnings, sentenceOf } from "../server.ts";
import { submitting } from "./hooks.tsx";
import { Problem, Sentence } from "./text.tsx";

type Act = ActRequest["act"];

/** An argument or option, by its name, that the page does not know. */
interface Field {
  readonly name: string;
  readonly label: string;
  readonly required?: true;
  readonly placeholder?: string;
  readonly defaultValue?: string;
}

interface Offer {
  readonly label: string;
  readonly about: string;
  readonly fields?: readonly Field[];
  readonly act: Act;
  /** Whether it takes something away: it needs a reason, and the command asks before. */
  readonly takesAway?: true;
}

/** Fields with several values, separated by spaces. */
const LISTS: ReadonlySet<string> = new Set(["scope"]);

const REASON: Field = { name: "reason", label: "Reason, for the audit", required: true };
const BY: Field = { name: "by", label: "Who, for the audit", placeholder: "your user name" };

type Step =
  | { readonly at: "filling"; readonly error: string | null }
  | { readonly at: "asked"; readonly act: Act; readonly question: string }
  | { readonly at: "done"; readonly lines: readonly string[] };

const LEAVE = { filling: "Cancel", asked: "No, change nothing", done: "Close" } as const;

/** Steps of an act: it is filled in, asked about as on the command line, and done. */
const useAct = (offer: Offer, fields: readonly Field[]) => {
  const [step, setStep] = useState<Step>({ at: "filling", error: null });
  const [isBusy, setBusy] = useState(false);
  const run = async (act: Act, confirmed?: string): Promise<void> => {
    setBusy(true);
    try {
      const { answer, warnings } = await callWithWarnings("act", {
        act,
        ...(confirmed !== undefined && { confirmed }),
      });
      setStep(
        answer.outcome === "asked"
          ? { at: "asked", act, question: answer.question }
          : { at: "done", lines: [...warnings, ...answer.progress, answer.text] },
      );
    } catch (error) {
      setStep({ at: "filling", error: sentenceOf(error) });
    } finally {
      setBusy(false);
    }
  };
  const submit = submitting((field) => {
    if (step.at === "asked") return void run(step.act, step.question);
    // An empty field is left out.
    const filledIn = fields.flatMap(({ name }) => {
      const text = field(name);
      return text === "" ? [] : [[name, LISTS.has(name) ? text.split(/[\s,]+/).filter(Boolean) : text]];
    });
    return void run({ ...offer.act, ...Object.fromEntries(filledIn) });
  });
  return { step, isBusy, submit };
};

const ActDialog = ({
  offer,
  close,
}: {
  readonly offer: Offer;
  readonly close: (wasDone: boolean) => void;
}) => {
  const fields = [...(offer.fields ?? []), ...(offer.takesAway ? [REASON] : []), BY];
  const { step, isBusy, submit } = useAct(offer, fields);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const goOn = step.at === "asked" ? "Yes, do it" : offer.takesAway ? "Show what it does" : offer.label;
  return (
    <dialog ref={dialog} aria-labelledby="act" onClose={() => close(step.at === "done")}>
      <article>
        <h2 id="act">{offer.label}</h2>
        <form onSubmit={submit}>
          {step.at === "filling" && (
            <>
              <p>{offer.about}</p>
              {step.error !== null && <Problem>{step.error}</Problem>}
              {fields.map(({ label, ...input }) => (
                <label key={input.name}>
                  {label}
                  <input {...input} autoComplete="off" />
                </label>
              ))}
            </>
          )}
          {step.at === "asked" && (
            <p role="alert">
              <Sentence>{step.question}</Sentence>
            </p>
          )}
          {step.at === "done" && <pre role="status">{step.lines.join("\n")}</pre>}
          {/* New buttons at each step: none keeps the focus, to be pressed twice by mistake. */}
          <div key={step.at} class="buttons">
            <button
              type="button"
              class={step.at === "done" ? "" : "secondary"}
              onClick={() => dialog.current?.close()}
            >
              {LEAVE[step.at]}
            </button>
            {step.at !== "done" && (
              <button type="submit" aria-busy={isBusy} disabled={isBusy}>
                {goOn}
              </button>
            )}
          </div>
        </form>
      </article>
    </dialog>
  );
};

export const Acts = ({
  offers,
  changed,
}: {
  readonly offers: readonly Offer[];
  readonly changed: () => void;
}) => {
  const [offered, setOffered] = useState<Offer | null>(null);
  // A dialog tells that it was closed a moment after it is gone: the next one may be open by then.
  const close = (closed: Offer, wasDone: boolean): void => {
    setOffered((current) => (current === closed ? null : current));
    if (wasDone) changed();
  };
  return (
    <>
      <div class="buttons">
        {offers.map((offer) => (
          <button
            key={offer.label}
            type="button"
            class={offer.takesAway ? "outline contrast" : "outline"}
            onClick={() => setOffered(offer)}
          >
            {offer.label} …
          </button>
        ))}
      </div>
      {offered !== null && (
        <ActDialog key={offered.label} offer={offered} close={(wasDone) => close(offered, wasDone)} />
      )}
    </>
  );
};

export const customerOffers = (application: string, customer: string): readonly Offer[] => {
  const of = { application, customer };
  return [
    {
      label: "Ask the stores now",
      about: "Queues every purchase of the customer; the next run of the schedules asks about them.",
      act: { act: "customer refresh", ...of },
    },
    {
      label: "Unlink",
      about: "Takes the customer and its purchases away from its account.",
      takesAway: true,
      act: { act: "customer unlink", ...of },
    },
    {
      label: "Move to another account",
      about: "Links the customer to another account, in one step.",
      fields: [{ name: "to", label: "Account to move it to", required: true }],
      takesAway: true,
      act: { act: "customer unlink", ...of },
    },
    {
      label: "Erase the customer",
      about: "Erases the customer with all purchases.",
      takesAway: true,
      act: { act: "customer erase", ...of },
    },
  ];
};

export const accountOffers = (application: string, account: string): readonly Offer[] => [
  {
    label: "Unlink what only clients claimed",
    about: "Unlinks the customers that no API key has linked.",
    takesAway: true,
    act: { act: "account unlink", application, account, assertedBy: "client" },
  },
  {
    label: "Erase the account",
    about: "Erases every customer of the account, with all purchases.",
    takesAway: true,
    act: { act: "account erase", application, account },
  },
];

export const applicationOffers = ({
  identifier: application,
  scopes,
}: Answer<"application">): readonly Offer[] => [
  {
    label: "Issue an API key",
    about: "Makes an API key. It is shown once, here.",
    fields: [
      {
        name: "scope",
        label: "Scopes, separated by spaces",
        required: true,
        defaultValue: scopes.join(" "),
      },
      { name: "expires", label: "Expires: a time, or a duration such as P90D", placeholder: "never" },
      { name: "label", label: "Label" },
    ],
    act: { act: "credential issue", application },
  },
  {
    label: "Ask the stores about everything",
    about: "Queues every purchase of every customer. The schedules work them off, at the stores' pace.",
    act: { act: "application refresh", application },
  },
  {
    label: "Deliver every account's changes now",
    about: "Queues every account: what a changed catalog has changed is delivered.",
    act: { act: "application retell", application },
  },
];

export const keyOffer = (application: string, keyIdentifier: string): Offer => ({
  label: `Revoke ${keyIdentifier}`,
  about: `Revokes the key ${keyIdentifier} for ever. The service may accept it for another minute.`,
  act: { act: "credential revoke", application, keyIdentifier },
});

export const destinationOffers = (
  application: string,
  { name, kind }: Answer<"application">["destinations"][number],
): readonly Offer[] => {
  const of = { application, name };
  const rotate: Offer = {
    label: `New secret for ${name}`,
    about: "Rotates the webhook's secret. It is shown once, here; the previous one signs too for a day.",
    act: { act: "destination rotate", ...of },
  };
  return [
    {
      label: `Resume ${name}`,
      about: "Ends a pause or suspension: what waits is tried at once.",
      act: { act: "destination resume", ...of },
    },
    {
      label: `Send again to ${name}`,
      about: "Sends the changes since a time once more, at most 30 days.",
      fields: [{ name: "since", label: "Since", required: true, placeholder: "2027-01-31T00:00:00Z" }],
      act: { act: "destination resend", ...of },
    },
    ...(kind === "webhook" ? [rotate] : []),
  ];
};
