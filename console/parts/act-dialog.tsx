import { useEffect, useRef, useState } from "preact/hooks";
import type { ActRequest } from "../../operator/console/acts.ts";
import { callWithWarnings } from "../server.ts";
import { submitting } from "./form.ts";
import { Problem, Sentence } from "./text.tsx";

type Act = ActRequest["act"];

/** A field that an act needs beside what the page knows: the argument or option of its name. */
interface Field {
  readonly name: string;
  readonly label: string;
  readonly isRequired?: true;
  /** Several values, separated by spaces. */
  readonly isList?: true;
  readonly placeholder?: string;
  /** Initial text. */
  readonly value?: string;
}

export interface Offer {
  readonly label: string;
  readonly about: string;
  readonly fields?: readonly Field[];
  readonly act: Act;
  /** Whether it takes something away, and asks before. */
  readonly takesAway?: true;
}

export const REASON: Field = { name: "reason", label: "Reason, for the audit", isRequired: true };
const BY: Field = { name: "by", label: "Who, for the audit", placeholder: "your user name" };

type Step =
  | { readonly at: "filling"; readonly error: string | null }
  | { readonly at: "asked"; readonly question: string }
  | { readonly at: "done"; readonly lines: readonly string[] };

const Fields = ({ fields }: { readonly fields: readonly Field[] }) => (
  <>
    {fields.map(({ name, label, isRequired = false, placeholder = "", value = "" }) => (
      <label key={name}>
        {label}
        <input
          name={name}
          required={isRequired}
          placeholder={placeholder}
          defaultValue={value}
          autoComplete="off"
        />
      </label>
    ))}
  </>
);

/** Runs an act: its fields, the command's question as on the command line, and what was done. */
const ActDialog = ({
  offer,
  close,
}: {
  readonly offer: Offer;
  readonly close: (wasDone: boolean) => void;
}) => {
  const fields = [...(offer.fields ?? []), BY];
  const dialog = useRef<HTMLDialogElement>(null);
  const [step, setStep] = useState<Step>({ at: "filling", error: null });
  const [isBusy, setBusy] = useState(false);
  const act = useRef<Act | null>(null);
  useEffect(() => dialog.current?.showModal(), []);

  const run = async (confirmed: string | undefined): Promise<void> => {
    if (act.current === null) return;
    setBusy(true);
    try {
      const { answer, warnings } = await callWithWarnings("act", {
        act: act.current,
        ...(confirmed !== undefined && { confirmed }),
      });
      setStep(
        answer.outcome === "asked"
          ? { at: "asked", question: answer.question }
          : { at: "done", lines: [...warnings, ...answer.progress, answer.text] },
      );
    } catch (error) {
      setStep({ at: "filling", error: error instanceof Error ? error.message : String(error) });
    } finally {
      setBusy(false);
    }
  };
  const submit = submitting((field) => {
    // An empty field is left out.
    const filledIn = fields.flatMap(({ name, isList }) => {
      const text = field(name);
      return text === "" ? [] : [[name, isList ? text.split(/[\s,]+/).filter(Boolean) : text]];
    });
    act.current = { ...offer.act, ...Object.fromEntries(filledIn) };
    void run(undefined);
  });
  const isDone = step.at === "done";
  return (
    <dialog ref={dialog} aria-labelledby="act" onClose={() => close(isDone)}>
      <article>
        <h2 id="act">{offer.label}</h2>
        {step.at === "filling" && (
          <form onSubmit={submit}>
            <p>{offer.about}</p>
            {step.error !== null && <Problem>{step.error}</Problem>}
            <Fields fields={fields} />
            <div class="buttons">
              <button type="button" class="secondary" onClick={() => dialog.current?.close()}>
                Cancel
              </button>
              <button type="submit" aria-busy={isBusy} disabled={isBusy}>
                {offer.takesAway ? "Show what it does" : offer.label}
              </button>
            </div>
          </form>
        )}
        {step.at === "asked" && (
          <>
            <p role="alert">
              <Sentence>{step.question}</Sentence>
            </p>
            <div class="buttons">
              <button type="button" class="secondary" onClick={() => dialog.current?.close()}>
                No, change nothing
              </button>
              <button
                type="button"
                aria-busy={isBusy}
                disabled={isBusy}
                onClick={() => void run(step.question)}
              >
                Yes, do it
              </button>
            </div>
          </>
        )}
        {step.at === "done" && (
          <>
            <pre role="status">{step.lines.join("\n")}</pre>
            <div class="buttons">
              <button type="button" onClick={() => dialog.current?.close()}>
                Close
              </button>
            </div>
          </>
        )}
      </article>
    </dialog>
  );
};

export const Acts = ({
  offers,
  changed,
}: {
  readonly offers: readonly Offer[];
  /** Called when something was done. */
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
