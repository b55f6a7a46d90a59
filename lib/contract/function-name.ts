/** Name of a function in logs, metrics and file names: `readChanges` → `read-changes`. */
export const functionName = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
