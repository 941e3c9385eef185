package main

func Example() {
	main()
	// Output:
	// 1 user: Hello
	// 2 echo: Hello (event 1)
	// 3 user: Hello again
	// 4 echo: Hello again (event 3)
}
