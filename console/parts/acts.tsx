import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { ActRequest } from "../../operator/console/calls.ts";
import { type Answer, callWithWarnings, sentenceOf } from "../server.ts";
import { submitting } from "./hooks.tsx";
import { Problem, Sentence, spaced } from "./text.tsx";

type Act = ActRequest["act"];

/** The operator's commands, as the server describes them. */
export const Commands = createContext<Answer<"start">["acts"]>([]);

/** Offer of a command. Its fields are the command's options, without those that the page gives. */
const offerOf = (
  { name, about, fields }: Answer<"start">["acts"][number],
  given: Readonly<Record<string, string>>,
  named: string,
) => {
  const [group = "", verb = ""] = name.split(" ");
  return {
    label: spaced(verb.charAt(0).toUpperCase() + verb.slice(1), "the", group, named),
    about,
    fields: fields.filter((field) => !(field.name in given)),
    act: { act: name, ...given },
    /** It needs a reason, and asks before. */
    takesAway: fields.some((field) => field.name === "reason"),
  };
};
type Offer = ReturnType<typeof offerOf>;

type Step =
  | { readonly at: "filling"; readonly error: string | null }
  | { readonly at: "asked"; readonly act: Act; readonly question: string }
  | { readonly at: "done"; readonly lines: readonly string[] };

const LEAVE = { filling: "Cancel", asked: "No, change nothing", done: "Close" } as const;

/** Steps of an act: it is filled in, asked about as on the command line, and done. */
const useAct = ({ act: given, fields }: Offer) => {
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
    const filledIn = fields.flatMap(({ name, isList }) => {
      const text = field(name);
      return text === "" ? [] : [[name, isList ? text.split(/[\s,]+/).filter(Boolean) : text]];
    });
    return void run({ ...given, ...Object.fromEntries(filledIn) });
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
  const { step, isBusy, submit } = useAct(offer);
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
              {offer.fields.map(({ name, label, isRequired }) => (
                <label key={name}>
                  {label}
                  <input name={name} required={isRequired} autoComplete="off" />
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

/**
 * Buttons for commands.
 *
 * @param given arguments and options that the page knows
 * @param named ends the buttons' labels, where several are of one command
 */
export const Acts = ({
  commands,
  given,
  named = "",
  changed,
}: {
  readonly commands: readonly Act["act"][];
  readonly given: Readonly<Record<string, string>>;
  readonly named?: string;
  readonly changed: () => void;
}) => {
  const offers = useContext(Commands)
    .filter(({ name }) => commands.includes(name))
    .map((command) => offerOf(command, given, named));
  const [offered, setOffered] = useState<Offer | null>(null);
  // A dialog tells that it was closed a moment after it is gone: the next one may be open by then.
  const close = (closed: Offer, wasDone: boolean): void => {
    setOffered((current) => (current?.label === closed.label ? null : current));
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

export const OF_CUSTOMER = ["customer refresh", "customer unlink", "customer erase"] as const;
