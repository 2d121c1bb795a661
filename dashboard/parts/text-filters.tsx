interface TextFiltersProps<Field extends string> {
  readonly fields: readonly (readonly [field: Field, label: string, placeholder: string])[];
  readonly typed: Readonly<Record<Field, string>>;
  onType(typed: Readonly<Record<Field, string>>): void;
}

/** Fields for words that narrow a view, above it. */
export function TextFilters<Field extends string>({ fields, typed, onType }: TextFiltersProps<Field>) {
  return (
    <>
      {fields.map(([field, label, placeholder]) => (
        <label key={field}>
          {label}
          <input
            type="search"
            spellcheck={false}
            autocapitalize="off"
            placeholder={placeholder}
            value={typed[field]}
            onInput={(event) => onType({ ...typed, [field]: event.currentTarget.value })}
          />
        </label>
      ))}
    </>
  );
}
