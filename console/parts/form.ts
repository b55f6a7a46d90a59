/** Handles a form on this page: its fields as text, by name. */
export const submitting =
  (take: (field: (name: string) => string) => void) =>
  (event: SubmitEvent): void => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    take((name) => String(form.get(name) ?? ""));
  };
