import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string;
  /** Renders the control, which must have this id. */
  children(ids: { readonly id: string; readonly "aria-describedby"?: string; readonly "aria-invalid"?: boolean }): ComponentChildren;
}

export function FieldInput({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const described = [hint === undefined ? undefined : `${id}-hint`, error === undefined ? undefined : `${id}-error`].filter((each) => each !== undefined).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described === "" ? undefined : described, "aria-invalid": error === undefined ? undefined : true })}
      {hint !== undefined && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}
